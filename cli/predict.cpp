// parsnets predict: classes and confidences for the rows of a features file, streamed in batches.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "base/memory_limit.hpp"
#include "command.hpp"
#include "eval/score_source.hpp"
#include "feature_rows.hpp"
#include "load_flags.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"
#include "parsnets/ranking.hpp"
#include "prediction_writer.hpp"

namespace parsnets::cli {

namespace {

/// What prediction needs of a model file or a device file.
struct Predictor {
  std::vector<std::string> names;
  std::vector<std::uint8_t> seen;
  double gamma = 0, temperature = 1;
  std::size_t dimensions = 0, outputs = 0;
  std::function<void(MatrixView<const float>, const ScoreVisitor&)> visit_scores;
};

Predictor open_predictor(const std::string& file, ThreadPool& pool) {
  if (is_device_file(file)) {
    const auto model = std::make_shared<const DeviceModel>(load_device_model(file));
    return {model->class_names(),
            model->class_seen(),
            model->gamma(),
            model->temperature(),
            model->dimensions(),
            model->outputs(),
            [model, &pool](MatrixView<const float> x, const ScoreVisitor& visit) {
              visit(0, model->scores(x, pool).view());
            }};
  }
  const auto model = std::make_shared<const Model>(load_model(file));
  const auto prepared = std::make_shared<const PreparedClasses>(model->prepare_classes(pool));
  return {model->classes.names,
          model->classes.seen,
          model->gamma,
          model->temperature,
          model->dimensions,
          model->outputs(),
          [model, prepared, &pool](MatrixView<const float> x, const ScoreVisitor& visit) {
            model->visit_scores(x, *prepared, pool, visit);
          }};
}

/// What is written is text for a program to read by its ending, and never replaces what is read.
void check_out(const std::filesystem::path& out, std::initializer_list<std::filesystem::path> read) {
  if (out.empty()) return;
  if (out.extension() != ".csv" && out.extension() != ".json")
    throw Error(ErrorCode::usage, "--out: expected a file ending in .csv or .json, found '" + out.string() + "'");
  std::error_code absent;
  for (const auto& file : read)
    if (std::filesystem::equivalent(out, file, absent))
      throw Error(ErrorCode::usage, "--out: expected another file than " + file.string() + ", which is read");
}

}  // namespace

Command predict_command() {
  struct State {
    std::string model, input;
    std::filesystem::path out;
    int top = 5, batch = 1024;
    std::uint64_t memory_limit = 0;
    Among among = Among::all;
  };
  auto state = std::make_shared<State>();
  Command command;
  command.name = "predict";
  command.summary = "predict the classes of new samples, with confidences";
  command.example = "parsnets predict --model out/demo.safetensors --input data/demo/features.npy --top 3";
  command.options.text("model", state->model, "model file or device file")
      .text("input", state->input,
            "features of the samples, one row each: a .npy, .npz, .mat or .csv file, or - for .npy or .csv on standard "
            "input")
      .path("out", state->out,
            "file to write instead of standard output: .csv or .json by its ending; replaced when all is done")
      .integer("top", state->top, 1, 100000, "number of classes per sample")
      .choice("among", state->among, {{"all", Among::all}, {"seen", Among::seen}, {"unseen", Among::unseen}},
              "candidate classes")
      .integer("batch", state->batch, 1, 1000000, "samples per batch; results are written after each");
  add_memory_limit(command.options, state->memory_limit);
  command.run = [state](Context& context) {
    if (state->model.empty() || state->input.empty())
      throw Error(ErrorCode::usage, "predict: expected --model FILE and --input FILE");
    check_out(state->out, {state->model, state->input});
    ThreadPool pool(static_cast<unsigned>(context.common.threads));
    const Predictor model = open_predictor(state->model, pool);
    const Ranking ranking(model.seen, model.gamma, model.temperature, state->among);
    PredictionWriter writer(state->out, writes_json(state->out, context.common.json), model.names, model.seen);
    FeatureRows input(state->input, context.progress, state->memory_limit);
    if (input.cols() != model.dimensions)
      throw Error(BadInput{input.name(), "features", fmt::format("{} per sample, as in training", model.dimensions),
                           fmt::format("{}", input.cols()), "use the features that the model was trained on"});
    require_memory(
        state->memory_limit,
        scoring_bytes(model.names.size(), model.outputs, model.dimensions, static_cast<std::size_t>(state->batch)) +
            12.0 * state->batch * static_cast<double>(input.cols()),
        "prediction", "raise the limit or lower --batch");
    std::vector<RankedClass> top(std::min(static_cast<std::size_t>(state->top), ranking.candidates().size()));
    // Written as it is computed, so that memory does not grow with the input.
    for (;;) {
      report(context.progress, {"predict", writer.samples(), input.total(), "samples"});
      const MatrixView<const float> rows = input.next(static_cast<std::size_t>(state->batch));
      if (rows.rows() == 0) break;
      model.visit_scores(rows, [&](std::size_t, MatrixView<const float> scores) {
        for (std::size_t r = 0; r < scores.rows(); ++r) {
          ranking.best(scores.row(r), top);
          writer.add(top);
        }
        writer.flush();
      });
    }
    if (writer.samples() == 0)
      throw Error(BadInput{input.name(), "", "rows of comma-separated numbers", "only a header", "write it again"});
    writer.finish();
    Output output;
    output.already_printed = state->out.empty();
    output.json = {{"out", state->out.string()}, {"samples", writer.samples()}, {"top", top.size()}};
    output.text = fmt::format("{}: {} samples, {} of {} classes each\n", state->out.string(), writer.samples(),
                              top.size(), ranking.candidates().size());
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
