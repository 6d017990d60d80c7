// parsnets explain: why a sample was given its class, attribute by attribute.

#include <fmt/format.h>

#include <cmath>

#include "base/machine.hpp"
#include "command.hpp"
#include "eval/scoring.hpp"
#include "feature_rows.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"
#include "photo_rows.hpp"
#include "prediction_writer.hpp"

namespace parsnets::cli {

namespace {

struct ExplainState {
  std::string model;
  std::vector<std::string> input;
  int row = 0, top = 8;
  BackboneChoice backbone;  ///< with the memory limit of the command
};

struct Sample {
  std::string image;  ///< empty: a row of features
  std::vector<float> features;
};

std::size_t row_of(const ExplainState& state, std::size_t rows) {
  const auto row = static_cast<std::size_t>(state.row);
  refuse_if(row >= rows && rows == 1, "--row: expected 0, there is one sample, found {}", row);
  refuse_if(row >= rows, "--row: expected a sample from 0 to {}, found {}", rows - 1, row);
  return row;
}

Sample read_sample(const ExplainState& state, const Model& model, ThreadPool& pool, ProgressObserver* progress) {
  const auto& source = model.record.data.source;
  if (!state.backbone.given()) {
    const Matrix<float> input = read_feature_input(state.input.front(), source, progress, state.backbone.memory_limit);
    const auto row = input.row(row_of(state, input.rows()));
    return {"", {row.begin(), row.end()}};
  }
  const auto photos = photos_of(state.input, nullptr);
  PhotoRows input({photos[row_of(state, photos.size())]}, source, state.backbone, pool, progress);
  const auto row = input.next(1).row(0);
  return {input.images().front().image, {row.begin(), row.end()}};
}

}  // namespace

Command explain_command() {
  auto state = std::make_shared<ExplainState>();
  Command command{"explain", "show which attributes and networks decided a prediction",
                  "parsnets explain out/demo.safetensors data/demo/features.npy --row 1100"};
  command.by_place = {"model", "input"};
  command.options.text("model", state->model, "model file")
      .texts("input", state->input,
             "features of the samples: .npy, .npz, .csv or .mat, one row each; or photographs (JPEG, "
             "PNG, WebP, BMP): files and folders")
      .integer("row", state->row, 0, 2000000000,
               "row of the sample, counted from 0; of photographs, the sample number that 'parsnets predict' prints")
      .integer("top", state->top, 1, 100000, "number of attributes to show; --json has all of them");
  add_photo_options(command.options, state->backbone);
  add_memory_limit(command.options, state->backbone.memory_limit);
  command.run = [state](Context& context) {
    refuse_if(state->model.empty() || state->input.empty(), "explain: expected --model FILE and --input FILE");
    check_photographs(state->input, state->backbone);
    const Model model = load_model(state->model);
    require_memory(state->backbone.memory_limit,
                   scoring_bytes(model.classes.names.size(), model.outputs(), model.dimensions, 1), "an explanation",
                   "raise the limit");
    ThreadPool pool(1);
    const Sample sample = read_sample(*state, model, pool, context.progress);
    if (sample.features.size() != model.dimensions)
      throw Error(BadInput{sample.image.empty() ? state->input.front() : sample.image, "features",
                           fmt::format("{} per sample, as in training", model.dimensions),
                           fmt::format("{}", sample.features.size()),
                           "use the features that the model was trained on"});
    const Explanation why = explain(model, sample.features, pool);
    const auto first = static_cast<std::size_t>(why.winner), second = static_cast<std::size_t>(why.runner_up);
    const std::string &winner = model.classes.names[first], &runner_up = model.classes.names[second];
    Output output{{{"sample", state->row},
                   {"winner", winner},
                   {"winner_score", why.winner_score},
                   {"runner_up", runner_up},
                   {"runner_up_score", why.runner_up_score},
                   {"open_networks", why.open_networks}}};
    if (!state->backbone.given())
      warn(context, source_doubt(model.record.data.source, std::filesystem::path(state->input.front())));
    if (!sample.image.empty()) output.json["image"] = sample.image;
    output.json["calibration"] = why.calibration;
    output.json["examples"] = why.examples;
    output.text = fmt::format("{}: {} ({:.4f}) before {} ({:.4f})\n",
                              sample.image.empty() ? fmt::format("sample {}", state->row) : sample.image, winner,
                              why.winner_score, runner_up, why.runner_up_score);
    output.text +=
        fmt::format("{:>9}  {:<28}{:>12}{:>12}\n", "", "attribute", shortened(winner, 11), shortened(runner_up, 11));
    int shown = 0;
    for (const auto& [index, amount] : why.attributes) {
      const std::string name = attribute_name(model.attribute_names, index);
      const float of_winner = model.classes.semantics(first, index),
                  of_runner_up = model.classes.semantics(second, index);
      output.json["attributes"].push_back({{"attribute", name},
                                           {"contribution", amount},
                                           {"predicted", why.predicted[index]},
                                           {"winner", of_winner},
                                           {"runner_up", of_runner_up}});
      if (shown++ < state->top)
        output.text += fmt::format("{:>+9.4f}  {:<28}{:>12.4g}{:>12.4g}\n", amount, name, of_winner, of_runner_up);
    }
    if (std::abs(why.examples) > 1e-6)
      output.text += fmt::format("{:>+9.4f}  training samples of the two classes\n", why.examples);
    if (why.calibration != 0)
      output.text += fmt::format("{:>+9.4f}  calibration: gamma is subtracted from seen classes\n", why.calibration);
    output.text += fmt::format("active networks: {} of {}\n", why.open_networks.size(), model.gates.networks);
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
