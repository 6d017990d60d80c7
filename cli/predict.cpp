// parsnets predict: classes and confidences for the rows of a features file, streamed in batches.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include "base/memory_limit.hpp"
#include "base/together.hpp"
#include "command.hpp"
#include "eval/score_source.hpp"
#include "feature_rows.hpp"
#include "load_flags.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"
#include "parsnets/predictor.hpp"
#include "parsnets/ranking.hpp"
#include "prediction_writer.hpp"

namespace parsnets::cli {

namespace {

/// What prediction needs of a model file or a device file.
struct Recogniser {
  std::vector<std::string> names;
  std::vector<std::uint8_t> seen;
  double gamma = 0, temperature = 1;
  std::size_t dimensions = 0, outputs = 0;
  /// The best classes of each row, equally many.
  std::function<void(MatrixView<const float>, const Ranking&, std::span<RankedClass>)> rank;
};

Recogniser open_device(const std::string& file, ThreadPool& pool) {
  const auto model = std::make_shared<const DeviceModel>(load_device_model(file));
  return {model->class_names(),
          model->class_seen(),
          model->gamma(),
          model->temperature(),
          model->dimensions(),
          model->outputs(),
          [model, &pool](MatrixView<const float> x, const Ranking& ranking, std::span<RankedClass> best) {
            constexpr std::size_t kRows = 512;  // whose scores are held at a time
            const std::size_t top = best.size() / x.rows();
            for (std::size_t first = 0; first < x.rows(); first += kRows) {
              const Matrix<float> scores =
                  model->scores({x.row(first).data(), std::min(kRows, x.rows() - first), x.cols()}, pool);
              for (std::size_t r = 0; r < scores.rows(); ++r)
                ranking.best(scores.row(r), best.subspan((first + r) * top, top));
            }
          }};
}

Recogniser open_model(const std::string& file, ThreadPool& pool) {
  const auto model = std::make_shared<const Model>(load_model(file));
  const auto predictor = std::make_shared<const Predictor>(*model, pool);
  return {model->classes.names,
          model->classes.seen,
          model->gamma,
          model->temperature,
          model->dimensions,
          model->outputs(),
          [model, predictor, &pool](MatrixView<const float> x, const Ranking& ranking, std::span<RankedClass> best) {
            predictor->rank(x, ranking, pool, best);
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

/// What all processes ranked, in the order of their shares, for the first one.
std::vector<RankedClass> gathered(std::vector<RankedClass> own, Processes& processes) {
  if (processes.size() == 1) return own;
  const auto parts = processes.gather({reinterpret_cast<const char*>(own.data()), own.size() * sizeof(RankedClass)});
  std::vector<RankedClass> all;
  for (const std::string& part : parts) {
    const std::size_t before = all.size();
    all.resize(before + part.size() / sizeof(RankedClass));
    std::memcpy(all.data() + before, part.data(), part.size());
  }
  return all;
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
  command.runs_in_processes = true;
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
    Processes& processes = context.processes;
    if (processes.size() > 1 && state->input == "-")
      throw Error(ErrorCode::usage, "--input: expected a file that every process can read, found standard input");
    ThreadPool pool(static_cast<unsigned>(context.common.threads));
    const Recogniser model =
        is_device_file(state->model) ? open_device(state->model, pool) : open_model(state->model, pool);
    const Ranking ranking(model.seen, model.gamma, model.temperature, state->among);
    std::optional<PredictionWriter> writer;
    together(processes, [&] {
      if (processes.rank() == 0)
        writer.emplace(state->out, writes_json(state->out, context.common.json), model.names, model.seen);
    });
    FeatureRows input(state->input, context.progress, state->memory_limit);
    if (input.cols() != model.dimensions)
      throw Error(BadInput{input.name(), "features", fmt::format("{} per sample, as in training", model.dimensions),
                           fmt::format("{}", input.cols()), "use the features that the model was trained on"});
    require_memory(
        state->memory_limit,
        scoring_bytes(model.names.size(), model.outputs, model.dimensions, static_cast<std::size_t>(state->batch)) +
            12.0 * state->batch * static_cast<double>(input.cols()),
        "prediction", "raise the limit or lower --batch");
    constexpr std::size_t kMostRanked = 1'000'000;  // classes of some samples that are held at a time
    const std::size_t top = std::min(static_cast<std::size_t>(state->top), ranking.candidates().size()),
                      rows_at_a_time = std::max<std::size_t>(kMostRanked / top, 1);
    std::size_t samples = 0;
    std::vector<RankedClass> best;
    // Written as it is computed, so that memory does not grow with the input.
    for (;;) {
      report(context.progress, {"predict", samples, input.total(), "samples"});
      const MatrixView<const float> rows = input.next(static_cast<std::size_t>(state->batch));
      if (rows.rows() == 0) break;
      samples += rows.rows();
      for (std::size_t first = 0; first < rows.rows(); first += rows_at_a_time) {
        const std::size_t count = std::min(rows_at_a_time, rows.rows() - first);
        const Share own = processes.share(count);
        best.resize(own.count * top);
        if (own.count > 0) model.rank({rows.row(first + own.first).data(), own.count, rows.cols()}, ranking, best);
        best = gathered(std::move(best), processes);
        if (!writer) continue;
        for (std::size_t r = 0; r < count; ++r) writer->add(std::span(best).subspan(r * top, top));
        writer->flush();
      }
    }
    if (samples == 0)
      throw Error(BadInput{input.name(), "", "rows of comma-separated numbers", "only a header", "write it again"});
    if (!writer) return Output{};
    writer->finish();
    Output output;
    output.already_printed = state->out.empty();
    output.json = {{"out", state->out.string()}, {"samples", samples}, {"top", top}};
    output.text = fmt::format("{}: {} samples, {} of {} classes each\n", state->out.string(), samples, top,
                              ranking.candidates().size());
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
