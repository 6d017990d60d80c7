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

/// What is asked beside the best classes.
struct Wanted {
  bool reject = false;
  std::optional<double> coverage;
};

/// What prediction needs of a model file or a device file.
struct Recogniser {
  std::vector<std::string> names;
  std::vector<std::uint8_t> seen;
  double gamma = 0, temperature = 1;
  std::size_t dimensions = 0, outputs = 0;
  /// The best classes of each row, equally many. Verdicts: none, or one per row.
  std::function<void(MatrixView<const float>, const Ranking&, std::span<RankedClass>, std::span<Verdict>)> rank;
  /// Of each class, the confidence from which on it is in prediction sets; empty without a coverage.
  std::vector<float> thresholds;
  std::function<void(MatrixView<const float>, const ScoreVisitor&)> visit_scores;  ///< for prediction sets
};

Recogniser open_device(const std::string& file, const Wanted& wanted, ThreadPool& pool) {
  if (wanted.coverage) throw Error(ErrorCode::usage, "--coverage: expected a model file, found a device file");
  const auto model = std::make_shared<const DeviceModel>(load_device_model(file));
  if (wanted.reject && !model->rejects())
    throw Error(
        ErrorCode::usage,
        "the device file has no rejection; calibrate a model of class space with 'parsnets calibrate' and export it");
  return {model->class_names(),
          model->class_seen(),
          model->gamma(),
          model->temperature(),
          model->dimensions(),
          model->outputs(),
          [model, &pool](MatrixView<const float> x, const Ranking& ranking, std::span<RankedClass> best,
                         std::span<Verdict> verdicts) {
            if (!verdicts.empty()) {
              std::vector<float> known_scores(x.rows());
              const auto unknown = model->unknown(x, Among::all, pool, known_scores);
              for (std::size_t r = 0; r < x.rows(); ++r) verdicts[r] = {known_scores[r], unknown[r] != 0};
            }
            constexpr std::size_t kRows = 512;  // whose scores are held at a time
            const std::size_t top = best.size() / x.rows();
            for (std::size_t first = 0; first < x.rows(); first += kRows) {
              const Matrix<float> scores =
                  model->scores({x.row(first).data(), std::min(kRows, x.rows() - first), x.cols()}, pool);
              for (std::size_t r = 0; r < scores.rows(); ++r)
                ranking.best(scores.row(r), best.subspan((first + r) * top, top));
            }
          },
          {},
          {}};
}

Recogniser open_model(const std::string& file, const Wanted& wanted, ThreadPool& pool) {
  const auto model = std::make_shared<const Model>(load_model(file));
  if (wanted.reject && model->rejection.empty())
    throw Error(ErrorCode::usage, "the model has no rejection; calibrate it with 'parsnets calibrate'");
  if (wanted.coverage && model->sets.empty())
    throw Error(ErrorCode::usage, "the model has no prediction sets; calibrate it with 'parsnets calibrate'");
  const auto predictor = std::make_shared<const Predictor>(*model, pool);
  return {model->classes.names,
          model->classes.seen,
          model->gamma,
          model->temperature,
          model->dimensions,
          model->outputs(),
          [model, predictor, &pool](MatrixView<const float> x, const Ranking& ranking, std::span<RankedClass> best,
                                    std::span<Verdict> verdicts) {
            if (verdicts.empty()) return predictor->rank(x, ranking, pool, best);
            std::vector<Evidence> evidence(x.rows());
            predictor->rank(x, ranking, pool, best, evidence);
            for (std::size_t r = 0; r < x.rows(); ++r) {
              const auto winner = static_cast<std::size_t>(best[r * (best.size() / x.rows())].class_index);
              const bool seen = model->classes.seen[winner] != 0;
              verdicts[r] = {model->rejection.known_score(evidence[r], seen),
                             model->rejection.is_unknown(evidence[r], seen)};
            }
          },
          wanted.coverage ? model->sets.thresholds(*wanted.coverage, model->classes.seen) : std::vector<float>(),
          [model, predictor, &pool](MatrixView<const float> x, const ScoreVisitor& visit) {
            model->visit_scores(x, predictor->classes(), pool, visit);
          }};
}

/// What was found for some samples, in their order.
struct Predictions {
  std::vector<RankedClass> classes;
  std::vector<std::uint32_t> counts;  ///< classes of each sample
  std::vector<Verdict> verdicts;      ///< of each, or none
};

/// Prediction sets of rows.
void add_sets(const Recogniser& model, const Ranking& ranking, MatrixView<const float> rows, ThreadPool& pool,
              Predictions& out) {
  model.visit_scores(rows, [&](std::size_t, MatrixView<const float> scores) {
    std::vector<std::vector<RankedClass>> sets(scores.rows());
    pool.parallel_for(scores.rows(), 16, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t r = begin; r < end; ++r) sets[r] = ranking.set(scores.row(r), model.thresholds);
    });
    for (const auto& set : sets) {
      out.counts.push_back(static_cast<std::uint32_t>(set.size()));
      out.classes.insert(out.classes.end(), set.begin(), set.end());
    }
  });
}

/// `top` classes of each row, or prediction sets where the model has thresholds.
Predictions predictions_of(const Recogniser& model, const Ranking& ranking, MatrixView<const float> rows,
                           std::size_t top, bool reject, ThreadPool& pool) {
  Predictions out;
  if (rows.rows() == 0) return out;
  const bool sets = !model.thresholds.empty();
  out.verdicts.resize(reject ? rows.rows() : 0);
  if (sets) add_sets(model, ranking, rows, pool, out);
  if (sets && !reject) return out;
  std::vector<RankedClass> best(rows.rows() * top);
  model.rank(rows, ranking, best, out.verdicts);
  if (sets) return out;
  out.classes = std::move(best);
  out.counts.assign(rows.rows(), static_cast<std::uint32_t>(top));
  return out;
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

/// Both are calibrated among all classes.
void check_wanted(const Wanted& wanted, Among among, const std::vector<std::string>& given) {
  if (among != Among::all && wanted.coverage)
    throw Error(ErrorCode::usage, "--coverage conflicts with --among: sets are made of all classes");
  if (among != Among::all && wanted.reject)
    throw Error(ErrorCode::usage, "--reject conflicts with --among: samples are compared with all classes");
  if (wanted.coverage && std::ranges::find(given, "top") != given.end())
    throw Error(ErrorCode::usage, "--coverage conflicts with --top: the coverage decides how many classes there are");
}

/// The values of all processes, in the order of their shares, for the first one.
template <class T>
std::vector<T> gathered(std::vector<T> own, Processes& processes) {
  if (processes.size() == 1) return own;
  const auto parts = processes.gather({reinterpret_cast<const char*>(own.data()), own.size() * sizeof(T)});
  std::vector<T> all;
  for (const std::string& part : parts) {
    const std::size_t before = all.size();
    all.resize(before + part.size() / sizeof(T));
    std::memcpy(all.data() + before, part.data(), part.size());
  }
  return all;
}

Predictions gathered(Predictions own, Processes& processes) {
  return {gathered(std::move(own.classes), processes), gathered(std::move(own.counts), processes),
          gathered(std::move(own.verdicts), processes)};
}

}  // namespace

Command predict_command() {
  struct State {
    std::string model, input;
    std::filesystem::path out;
    int top = 5, batch = 1024;
    std::uint64_t memory_limit = 0;
    Among among = Among::all;
    Wanted wanted;
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
      .flag("reject", state->wanted.reject,
            "report samples of no class of the model as unknown; needs a calibrated model")
      .share("coverage", state->wanted.coverage,
             "print the set of classes that contains the right one with this probability, instead of the best "
             "classes; needs a calibrated model")
      .automatic("no sets")
      .integer("batch", state->batch, 1, 1000000, "samples per batch; results are written after each");
  add_memory_limit(command.options, state->memory_limit);
  command.run = [state](Context& context) {
    if (state->model.empty() || state->input.empty())
      throw Error(ErrorCode::usage, "predict: expected --model FILE and --input FILE");
    const Wanted& wanted = state->wanted;
    check_wanted(wanted, state->among, context.given);
    check_out(state->out, {state->model, state->input});
    Processes& processes = context.processes;
    if (processes.size() > 1 && state->input == "-")
      throw Error(ErrorCode::usage, "--input: expected a file that every process can read, found standard input");
    ThreadPool pool(static_cast<unsigned>(context.common.threads));
    const Recogniser model =
        is_device_file(state->model) ? open_device(state->model, wanted, pool) : open_model(state->model, wanted, pool);
    const Ranking ranking(model.seen, model.gamma, model.temperature, state->among);
    std::optional<PredictionWriter> writer;
    together(processes, [&] {
      if (processes.rank() == 0)
        writer.emplace(state->out, writes_json(state->out, context.common.json), model.names, model.seen,
                       wanted.coverage);
    });
    FeatureRows input(state->input, context.progress, state->memory_limit);
    if (input.cols() != model.dimensions)
      throw Error(BadInput{input.name(), "features", fmt::format("{} per sample, as in training", model.dimensions),
                           fmt::format("{}", input.cols()), "use the features that the model was trained on"});
    constexpr std::size_t kMostRanked = 1'000'000;  // classes of some samples that are held at a time
    const std::size_t candidates = ranking.candidates().size(),
                      top = wanted.coverage ? 1 : std::min(static_cast<std::size_t>(state->top), candidates),
                      rows_at_a_time = std::max<std::size_t>(kMostRanked / (wanted.coverage ? candidates : top), 1);
    const double batch = state->batch,
                 in_sets = wanted.coverage
                               ? std::min(batch, static_cast<double>(rows_at_a_time)) * static_cast<double>(candidates)
                               : 0;
    require_memory(
        state->memory_limit,
        scoring_bytes(model.names.size(), model.outputs, model.dimensions, static_cast<std::size_t>(state->batch)) +
            12.0 * batch * static_cast<double>(input.cols()) + 3 * sizeof(RankedClass) * in_sets,
        "prediction", "raise the limit or lower --batch");
    std::size_t samples = 0, unknown = 0, classes = 0;
    // Written as it is computed, so that memory does not grow with the input.
    for (;;) {
      report(context.progress, {"predict", samples, input.total(), "samples"});
      const MatrixView<const float> rows = input.next(static_cast<std::size_t>(state->batch));
      if (rows.rows() == 0) break;
      samples += rows.rows();
      for (std::size_t first = 0; first < rows.rows(); first += rows_at_a_time) {
        const std::size_t count = std::min(rows_at_a_time, rows.rows() - first);
        const Share own = processes.share(count);
        const MatrixView<const float> part(rows.data() + (first + own.first) * rows.cols(), own.count, rows.cols());
        const Predictions found = gathered(predictions_of(model, ranking, part, top, wanted.reject, pool), processes);
        if (!writer) continue;
        std::span<const RankedClass> left(found.classes);
        for (std::size_t r = 0; r < count; ++r) {
          const Verdict* verdict = wanted.reject ? &found.verdicts[r] : nullptr;
          writer->add(left.first(found.counts[r]), verdict);
          left = left.subspan(found.counts[r]);
          unknown += verdict != nullptr && verdict->is_unknown;
        }
        classes += found.classes.size();
        writer->flush();
      }
    }
    if (samples == 0)
      throw Error(BadInput{input.name(), "", "rows of comma-separated numbers", "only a header", "write it again"});
    if (!writer) return Output{};
    writer->finish();
    Output output;
    output.already_printed = state->out.empty();
    output.json = {{"out", state->out.string()}, {"samples", samples}};
    output.text = fmt::format("{}: {} samples, ", state->out.string(), samples);
    if (wanted.coverage) {
      const double size = static_cast<double>(classes) / static_cast<double>(samples);
      output.json["coverage"] = *wanted.coverage;
      output.json["average_size"] = size;
      output.text += fmt::format("sets of {:.2f} of {} classes on average, coverage {}\n", size, candidates,
                                 format_share(*wanted.coverage));
    } else {
      output.json["top"] = top;
      output.text += fmt::format("{} of {} classes each\n", top, candidates);
    }
    if (wanted.reject) {
      output.json["unknown"] = unknown;
      output.text += fmt::format("{} of the samples are unknown\n", unknown);
    }
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
