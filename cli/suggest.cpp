// parsnets suggest: which unlabelled samples a person should label for 'classes teach'.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "base/machine.hpp"
#include "command.hpp"
#include "data/sample_files.hpp"
#include "data/sample_set.hpp"
#include "eval/protocols.hpp"
#include "feature_rows.hpp"
#include "formats/csv.hpp"
#include "load_flags.hpp"
#include "parsnets/predictor.hpp"

namespace parsnets::cli {

Command suggest_command() {
  struct State {
    std::string model, input;
    std::filesystem::path out;
    int count = 10;
    std::uint64_t memory_limit = 0;
  };
  auto state = std::make_shared<State>();
  Command command{"suggest", "say which unlabelled samples a person should label, for 'classes teach'",
                  "parsnets suggest out/demo.safetensors data/demo/features.npy --top 6 -o answers.csv"};
  command.by_place = {"model", "input"};
  command.options.text("model", state->model, "model file")
      .text("input", state->input,
            "features of the samples: .npy, .npz, .csv or .mat, one row each, or a folder with such a file")
      .integer("top", state->count, 1, 1000000, "how many samples to label, at most")
      .path("out", state->out,
            "table to fill in, row,file,guess,class: 'classes teach --labels' takes it with the same --input");
  add_memory_limit(command.options, state->memory_limit);
  command.run = [state](Context& context) {
    refuse_if(state->model.empty() || state->input.empty(), "suggest: expected --model FILE and --input FILE");
    const Model model = load_model(state->model);
    const auto file = features_file(state->input);
    const auto& source = model.record.data.source;
    const Matrix<float> input = read_feature_input(file, source, context.progress, state->memory_limit);
    warn(context, source_doubt(source, file));
    require_memory(state->memory_limit, 2 * field_bytes(model, input.rows()), "suggestions", "raise the limit");
    ThreadPool pool(context.threads());
    const auto rows = suggest(model, input.view(), static_cast<std::size_t>(state->count), pool);
    const std::vector<std::int32_t> wanted(rows.begin(), rows.end());
    std::vector<RankedClass> best(rows.size());
    if (!rows.empty())
      Predictor(model, pool).rank(gather_rows(input.view(), wanted).view(), Ranking(model), pool, best, false);
    const auto names = read_image_files(file.parent_path(), input.rows());
    CsvTable table{{"row", "file", "guess", "class"}, {}};
    Output output;
    output.json = {{"samples", input.rows()}, {"suggestions", nlohmann::ordered_json::array()}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string name = names.empty() ? "" : names[rows[i]];
      const std::string& guess = model.classes.names[static_cast<std::size_t>(best[i].class_index)];
      table.rows.push_back({std::to_string(rows[i]), name, guess, ""});
      output.json["suggestions"].push_back({{"row", rows[i]}, {"guess", guess}});
      if (!name.empty()) output.json["suggestions"].back()["file"] = name;
      output.text += fmt::format("row {:<8}{}looks like {}\n", rows[i], name.empty() ? "" : name + "  ", guess);
    }
    if (rows.empty()) output.text = "no sample looks like an unseen class: nothing to label\n";
    if (state->out.empty()) return output;
    make_folder_of(state->out);
    write_csv(state->out, table);
    output.json["out"] = state->out.string();
    output.text +=
        fmt::format("{}: fill in the column 'class', then parsnets classes teach --model {} --labels {} --input {}\n",
                    state->out.string(), state->model, state->out.string(), file.string());
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
