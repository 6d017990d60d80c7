// parsnets demo: the tour of `make demo` on the data set that is installed with the tool.

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "command.hpp"
#include "parsnets/error.hpp"
#include "repeat.hpp"

namespace parsnets::cli {

namespace fs = std::filesystem;

Command demo_command() {
  auto out = std::make_shared<fs::path>("parsnets-demo");
  Command command{"demo", "train, evaluate, add a class and export on the demo data set", "parsnets demo"};
  command.options.path("out", *out, "folder for what it writes");
  command.run = [out](Context& context) {
    std::error_code absent;
    const fs::path tool = fs::read_symlink("/proc/self/exe", absent);
    // As installed, in the Python package, and in the source tree.
    const std::pair<const char*, const char*> places[] = {{"../share/parsnets/demo", "../share/parsnets/demo/demo.sh"},
                                                          {"demo", "demo/demo.sh"},
                                                          {"../data/demo", "../scripts/demo.sh"}};
    fs::path data, script;
    for (const auto& [folder, file] : places) {
      const fs::path at = tool.parent_path();
      if (!data.empty() || !fs::exists(at / folder / "features.npy", absent) || !fs::exists(at / file, absent))
        continue;
      data = fs::canonical(at / folder);
      script = fs::canonical(at / file);
    }
    if (data.empty())
      throw Error(ErrorCode::failure, fmt::format("demo: expected share/parsnets/demo beside the folder of {}, found "
                                                  "none; install ParsNets again",
                                                  tool.string()));
    std::string line = "sh";
    for (const auto& word : {script.string(), tool.string(), data.string(), out->string()})
      line += " " + shell_word(word);
    line += context.common.quiet ? " > /dev/null" : context.common.json ? " >&2" : "";
    context.print("");
    const int status = std::system(line.c_str());
    if (WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) > 128))
      throw Error(ErrorCode::cancelled, "interrupted");
    if (status != 0) throw Error(ErrorCode::failure, "demo: one of its steps failed, see above");
    Output output;
    output.already_printed = !context.common.json;
    output.json = {{"data", data.string()}};
    for (const char* file : {"model.safetensors", "model.pnrt", "report.html", "page.html"})
      output.json["files"].push_back((*out / file).string());
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
