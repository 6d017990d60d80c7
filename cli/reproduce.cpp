// parsnets reproduce: the paper's tables and figures on every data set under a folder.

#include "experiments/reproduce.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

namespace {

std::string missing_text(const std::vector<MissingData>& missing) {
  std::string text;
  for (const auto& data : missing)
    for (const auto& file : data.files)
      text += fmt::format("  {}: {}; {}; from {}{}{}\n", data.data, (data.folder / file.file).string(), file.contents,
                          file.source, file.bytes > 0 ? fmt::format("; {} bytes", file.bytes) : "",
                          file.sha256.empty() ? "" : "; SHA-256 " + file.sha256);
  return text.empty() ? "" : "\nPublic data sets that are not there, and the files that they need:\n" + text;
}

}  // namespace

Command reproduce_command() {
  struct State {
    ReproduceOptions study;
    bool no_ablation = false, no_sparsity = false, no_report = false;
    int points = 1000;
  };
  auto state = std::make_shared<State>();
  state->study.out = "reproduction";
  Command command;
  command.name = "reproduce";
  command.summary = "compare methods on every data set under a folder: the paper's tables and one report";
  command.example = "parsnets reproduce --root data --out out/reproduction --seeds 3";
  command.options.path("root", state->study.root, "folder that is searched for data sets, three levels deep")
      .path("out", state->study.out, "folder for results, models, tables and the report")
      .text("methods", state->study.methods,
            "comma-separated: paper, default, auto, or a method with options as in 'bench'; the first is the baseline "
            "of the paired test")
      .integer("seeds", state->study.seeds, 1, 1000, "number of seeds, starting at --seed; results are mean ± sd")
      .path("rows", state->study.rows, "CSV or JSON file with rows of one's own, shown as not measured here")
      .flag("no-ablation", state->no_ablation, "skip the ablation")
      .flag("no-sparsity", state->no_sparsity, "skip the sweep over the number of open networks")
      .flag("no-report", state->no_report, "skip the report page")
      .integer("points", state->points, 10, 100000, "maximum number of samples in the t-SNE maps of the report");
  command.run = [state](Context& context) {
    if (state->study.root.empty()) throw Error(ErrorCode::usage, "reproduce: expected --root DIR");
    state->study.seed = context.common.seed;
    state->study.ablation = !state->no_ablation;
    state->study.sparsity = !state->no_sparsity;
    state->study.message = [](const Error& error) { return error.message(flag_option); };
    ThreadPool pool(static_cast<unsigned>(context.common.threads));
    const Reproduction done = reproduce(state->study, pool, context.progress);
    const std::filesystem::path page = state->study.out / "report.html";
    Output output;
    output.json = {{"out", state->study.out.string()},
                   {"runs", done.runs},
                   {"reused", done.reused},
                   {"failed", done.failed},
                   {"skipped", done.skipped},
                   {"tables", nlohmann::ordered_json::array()}};
    if (std::filesystem::exists(page)) output.json["report"] = page.string();
    for (const auto& table : done.tables) {
      output.json["tables"].push_back(to_json(table));
      if (table.name == "zsl" || table.name == "gzsl") output.text += to_text(table, TableFormat::markdown) + "\n";
    }
    for (const auto& data : done.missing)
      for (const auto& file : data.files)
        output.json["missing"].push_back({{"data", data.data}, {"file", (data.folder / file.file).string()}});
    output.text += fmt::format("{} runs, {} of them from an earlier call. All tables: {}\n", done.runs + done.reused,
                               done.reused, (state->study.out / "results.md").string());
    for (const auto& reason : done.skipped) output.text += "skipped " + reason + "\n";
    output.text += missing_text(done.missing);
    if (done.failed > 0) output.failure = fmt::format("{} rows failed; the tables say why", done.failed);
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
