// parsnets reproduce: the paper's tables and figures on every data set under a folder.

#include "experiments/reproduce.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "load_flags.hpp"
#include "page_pictures.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

namespace {

std::string missing_text(const std::vector<MissingDataset>& missing) {
  std::string text;
  for (const auto& data : missing) {
    if (data.files.empty()) continue;
    text += fmt::format("  {}, in {}:\n", data.data, data.folder.string());
    for (const auto& file : data.files)
      text += fmt::format("    {}: {}{}{}\n", file.file, file.contents,
                          file.bytes > 0 ? fmt::format(", {} bytes", file.bytes) : "",
                          file.sha256.empty() ? "" : ", SHA-256 " + file.sha256);
    text += fmt::format("    usually from: {}\n", data.files.front().source);
  }
  return text.empty() ? "" : "\nPublic data sets that are not there, and the files that they need:\n" + text;
}

/// Takes a word out of a list separated by commas; whether it was there.
bool take_word(std::string& list, const std::string& word) {
  auto words = parts_of(list);
  const bool found = std::erase(words, word) > 0;
  list = fmt::format("{}", fmt::join(words, ","));
  return found;
}

}  // namespace

Command reproduce_command() {
  struct State {
    ReproduceOptions study;
    std::string methods = study.methods + ",ablation,sparsity";
    int points = 1000;
    std::string pictures;
  };
  auto state = std::make_shared<State>();
  state->study.out = "reproduction";
  Command command{"reproduce", "compare methods on every data set under a folder: the paper's tables and one report",
                  "parsnets reproduce --root data --out out/reproduction --seeds 3"};
  command.options.path("root", state->study.root, "folder that is searched for data sets, three levels deep")
      .path("out", state->study.out, "folder for results, models, tables and the report")
      .text("methods", state->methods,
            "comma-separated: paper, default, auto, or a method with options as in 'bench', of which the first is the "
            "baseline of the paired test; ablation: the paper's; sparsity: a sweep over the number of active networks")
      .integer("seeds", state->study.seeds, 1, 1000, "number of seeds, starting at --seed; results are mean ± sd")
      .path("rows", state->study.rows, "CSV or JSON file with rows of your own, shown as not measured here")
      .integer("points", state->points, 10, 100000, "maximum number of samples in the t-SNE maps of the report")
      .text("pictures", state->pictures,
            "also write the figures of the report to OUT/figures, in these formats, comma-separated: png, svg, pdf; "
            "needs an installed Chromium");
  add_memory_limit(command.options, state->study.memory_limit);
  command.run = [state](Context& context) {
    refuse_if(state->study.root.empty(), "reproduce: expected --root DIR");
    state->study.seed = context.common.seed;
    state->study.ablation = take_word(state->methods, "ablation");
    state->study.sparsity = take_word(state->methods, "sparsity");
    state->study.methods = state->methods;
    state->study.points = static_cast<std::size_t>(state->points);
    state->study.message = [](const Error& error) { return error.message(flag_option); };
    const auto formats = parse_picture_formats(state->pictures);
    if (!formats.empty()) find_browser();
    ThreadPool pool(context.threads());
    const Reproduction done = reproduce(state->study, pool, context.progress);
    std::size_t pictures = 0;
    if (!formats.empty() && !done.page.empty())
      pictures = write_page_pictures(done.page, state->study.out / "figures", formats, context.progress).size();
    Output output;
    output.json = {{"out", state->study.out.string()},
                   {"runs", done.runs},
                   {"reused", done.reused},
                   {"failed", done.failed},
                   {"skipped", done.skipped},
                   {"tables", nlohmann::ordered_json::array()}};
    if (!done.page.empty()) output.json["report"] = done.page.string();
    for (const auto& table : done.tables) {
      output.json["tables"].push_back(to_json(table));
      if (table.name == "zsl" || table.name == "gzsl") output.text += to_text(table, TableFormat::markdown) + "\n";
    }
    for (const auto& data : done.missing)
      for (const auto& file : data.files)
        output.json["missing"].push_back({{"data", data.data}, {"file", (data.folder / file.file).string()}});
    output.text += fmt::format("{} runs, {} of them from an earlier call\ntables: {}\n", done.runs + done.reused,
                               done.reused, (state->study.out / "results.md").string());
    if (pictures > 0) {
      output.json["pictures"] = pictures;
      output.text += fmt::format("figures: {} files in {}\n", pictures, (state->study.out / "figures").string());
    }
    if (!done.page.empty()) output.text += fmt::format("report: {}\n", done.page.string());
    for (const auto& reason : done.skipped) output.text += "skipped " + reason + "\n";
    output.text += missing_text(done.missing);
    if (done.failed > 0)
      output.failure = fmt::format("{} row{} failed; the tables say why", done.failed, done.failed == 1 ? "" : "s");
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
