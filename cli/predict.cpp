// parsnets predict: classes and confidences for the rows of a features file or for photographs, streamed in batches.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "base/machine.hpp"
#include "base/processes.hpp"
#include "command.hpp"
#include "device/device_recogniser.hpp"
#include "eval/scoring.hpp"
#include "feature_rows.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "photo_rows.hpp"
#include "prediction_writer.hpp"
#include "store/model_file.hpp"

namespace parsnets::cli {

namespace {

struct State {
  std::string model, sha256;
  std::vector<std::string> input;
  std::filesystem::path out;
  int top = 5, batch = 1024, reasons = 0;
  bool table = false;
  Among among = Among::all;
  Wanted wanted;
  BackboneChoice backbone;  ///< with the memory limit of the command

  bool photographs() const { return backbone.given(); }
  bool standard_input() const { return input.front() == "-"; }
};

/// What is written is text for a program to read by its ending, and never replaces what is read.
void check_out(const std::filesystem::path& out, const std::vector<std::string>& read) {
  if (out.empty()) return;
  refuse_if(out.extension() != ".csv" && out.extension() != ".json",
            "--out: expected a file ending in .csv or .json, found '{}'", out.string());
  std::error_code absent;
  for (const auto& file : read)
    refuse_if(std::filesystem::equivalent(out, file, absent), "--out: expected another file than {}, which is read",
              file);
}

/// Verdicts, sets and explanations are of all classes.
void check_wanted(const State& state, const Context& context) {
  const Wanted& wanted = state.wanted;
  refuse_if(state.among != Among::all && wanted.coverage,
            "--coverage conflicts with --among: sets are made of all classes");
  refuse_if(state.among != Among::all && wanted.reject,
            "--reject conflicts with --among: samples are compared with all classes");
  refuse_if(state.among != Among::all && wanted.reasons > 0,
            "--explain conflicts with --among: the best class is compared with all classes");
  refuse_if(wanted.coverage && context.is_given("top"),
            "--coverage conflicts with --top: the coverage decides how many classes there are");
}

void check(State& state, const Context& context) {
  refuse_if(state.model.empty() || state.input.empty(), "predict: expected --model FILE and --input FILE");
  check_sha256(state.sha256);
  check_wanted(state, context);
  check_photographs(state.input, state.backbone);
  refuse_if(state.table && (context.common.json || !state.out.empty()),
            "--table conflicts with {}: tables are human-readable text", context.common.json ? "--json" : "--out");
  check_out(state.out, {state.model});
  check_out(state.out, state.input);
  refuse_if(context.processes.size() > 1 && (state.standard_input() || state.photographs()),
            "--input: expected a file that every process can read, found {}",
            state.standard_input() ? "standard input" : "photographs");
}

/// What was found for some samples, in their order.
struct Predictions {
  std::vector<RankedClass> classes;
  std::vector<std::uint32_t> counts;     ///< classes of each sample
  std::vector<Verdict> verdicts;         ///< of each, or none
  std::vector<std::int32_t> runners_up;  ///< of each sample that is explained; the best class where there is no other
  std::vector<Contribution> reasons;     ///< equally many of each such sample, largest first
  std::vector<BesideAttributes> beside;  ///< of each such sample
};

Recogniser open_device(const State& state, const Wanted& wanted, ThreadPool& pool) {
  refuse_if(wanted.coverage.has_value(), "--coverage: expected a model file, found a device file");
  refuse_if(wanted.reasons > 0, "--explain: expected a model file, found a device file");
  const auto model = std::make_shared<const DeviceModel>(load_device_model(state.model, state.sha256));
  refuse_if(
      wanted.reject && !model->rejects(),
      "the device file has no rejection; calibrate a model of class space with 'parsnets calibrate' and export it");
  return recogniser_of(model, pool);
}

Recogniser open_model(const State& state, Wanted& wanted, ThreadPool& pool) {
  const auto model = std::make_shared<const Model>(load_model(state.model, state.sha256));
  refuse_if(wanted.reject && model->rejection.empty(),
            "the model has no rejection; calibrate it with 'parsnets calibrate'");
  refuse_if(wanted.coverage && model->sets.empty(),
            "the model has no prediction sets; calibrate it with 'parsnets calibrate'");
  refuse_if(wanted.reasons > 0 && model->direction != Direction::forward,
            "--explain: expected a forward model, found a reverse one");
  if (wanted.coverage) wanted.thresholds = model->sets.thresholds(*wanted.coverage, model->classes.seen);
  return recogniser_of(model, pool);
}

void add_sets(const Recogniser& model, const Ranking& ranking, std::span<const float> thresholds,
              MatrixView<const float> rows, ThreadPool& pool, Predictions& out) {
  model.visit_scores(rows, [&](std::size_t, MatrixView<const float> scores) {
    std::vector<std::vector<RankedClass>> sets(scores.rows());
    pool.parallel_for(scores.rows(), 16, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t r = begin; r < end; ++r) sets[r] = ranking.set(scores.row(r), thresholds);
    });
    for (const auto& set : sets) {
      out.counts.push_back(static_cast<std::uint32_t>(set.size()));
      out.classes.insert(out.classes.end(), set.begin(), set.end());
    }
  });
}

/// The attributes that spoke most for the best class.
void add_reasons(const Recogniser& model, MatrixView<const float> rows, std::size_t most, ThreadPool& pool,
                 Predictions& out) {
  out.runners_up.resize(rows.rows());
  out.beside.resize(rows.rows());
  std::vector<std::vector<Contribution>> reasons(rows.rows());
  pool.parallel_for(rows.rows(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t r = begin; r < end; ++r) {
      Explanation why = model.explain(rows.row(r), pool);
      out.runners_up[r] = why.runner_up;
      out.beside[r] = {why.calibration, why.examples};
      auto& all = why.attributes;
      std::ranges::stable_sort(all, std::greater{}, &Contribution::amount);
      reasons[r].assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size())));
    }
  });
  for (const auto& own : reasons) out.reasons.insert(out.reasons.end(), own.begin(), own.end());
}

template <class T>
std::vector<T> gathered(std::vector<T> own, Processes& processes) {
  if (processes.size() == 1) return own;
  const auto parts = processes.gather({reinterpret_cast<const char*>(own.data()), own.size() * sizeof(T)});
  std::vector<T> all;
  for (const std::string& part : parts) {
    const std::size_t before = all.size();
    all.resize(before + part.size() / sizeof(T));
    if (!part.empty()) std::memcpy(all.data() + before, part.data(), part.size());
  }
  return all;
}

/// Of a model file or a device file, which is told by its content. Refers to `pool`. Throws bad_input, and usage for
/// what the file cannot do.
Recogniser open_recogniser(const State& state, Wanted& wanted, ThreadPool& pool) {
  return is_device_file(state.model) ? open_device(state, wanted, pool) : open_model(state, wanted, pool);
}

/// `top` classes of each row, or prediction sets where these are wanted.
Predictions predictions_of(const Recogniser& model, const Ranking& ranking, MatrixView<const float> rows,
                           std::size_t top, const Wanted& wanted, ThreadPool& pool) {
  Predictions out;
  if (rows.rows() == 0) return out;
  const bool sets = !wanted.thresholds.empty();
  out.verdicts.resize(wanted.reject ? rows.rows() : 0);
  if (wanted.reasons > 0) add_reasons(model, rows, wanted.reasons, pool, out);
  if (sets) add_sets(model, ranking, wanted.thresholds, rows, pool, out);
  if (sets && !wanted.reject) return out;
  std::vector<RankedClass> best(rows.rows() * top);
  model.rank(rows, ranking, best, out.verdicts);
  if (sets) return out;
  out.classes = std::move(best);
  out.counts.assign(rows.rows(), static_cast<std::uint32_t>(top));
  return out;
}

/// Those of all processes in the order of their shares, for the first process.
Predictions gathered(Predictions own, Processes& processes) {
  return {gathered(std::move(own.classes), processes),  gathered(std::move(own.counts), processes),
          gathered(std::move(own.verdicts), processes), gathered(std::move(own.runners_up), processes),
          gathered(std::move(own.reasons), processes),  gathered(std::move(own.beside), processes)};
}

PredictionFormat format_of(const State& state, bool json) {
  if (state.table) return PredictionFormat::table;
  return (state.out.empty() ? json : state.out.extension() == ".json") ? PredictionFormat::json : PredictionFormat::csv;
}

std::string unreadable_text(std::size_t count) {
  return fmt::format("{} image{} could not be read\n", count, count == 1 ? "" : "s");
}

/// Samples, and what was found of them.
struct Counts {
  std::size_t samples = 0, unknown = 0, classes = 0;
};

/// The predictions of samples, of which `images` are the photographs if they are any.
void write(const Predictions& found, const Recogniser& model, std::span<const SampleImage> images,
           PredictionWriter& writer, Counts& counts) {
  std::span<const RankedClass> left(found.classes);
  const std::size_t samples = found.counts.size(), reasons = found.reasons.size() / samples;
  for (std::size_t r = 0; r < samples; ++r) {
    Prediction one{images.empty() ? counts.samples + r : images[r].sample, left.first(found.counts[r])};
    left = left.subspan(found.counts[r]);
    if (!images.empty()) one.image = images[r].image;
    if (!found.verdicts.empty()) one.verdict = &found.verdicts[r];
    const bool is_unknown = one.verdict != nullptr && one.verdict->is_unknown;
    if (is_unknown && model.why) one.why = model.why(*one.verdict);
    if (!found.runners_up.empty()) {
      one.runner_up = found.runners_up[r];
      one.beside = found.beside[r];
    }
    one.reasons = std::span(found.reasons).subspan(r * reasons, reasons);
    writer.add(one);
    counts.unknown += is_unknown;
  }
  counts.samples += samples;
  counts.classes += found.classes.size();
  writer.flush();
}

Output told(const State& state, const Counts& counts, std::size_t top, std::size_t candidates, std::size_t unreadable) {
  Output output;
  output.already_printed = state.out.empty() && !state.table;
  output.json = {{"out", state.out.string()}, {"samples", counts.samples}};
  output.text = fmt::format("{}{} {}{}, ", state.table ? "\n" : state.out.string() + ": ", counts.samples,
                            state.photographs() ? "photograph" : "sample", counts.samples == 1 ? "" : "s");
  if (state.wanted.coverage) {
    const double size = static_cast<double>(counts.classes) / static_cast<double>(counts.samples);
    output.json["coverage"] = *state.wanted.coverage;
    output.json["average_size"] = size;
    output.text += fmt::format("sets of {:.2f} of {} classes on average, coverage {}\n", size, candidates,
                               format_share(*state.wanted.coverage));
  } else {
    output.json["top"] = top;
    output.text += fmt::format("{} of {} classes each\n", top, candidates);
  }
  if (state.wanted.reject) {
    output.json["unknown"] = counts.unknown;
    output.text += fmt::format("{} of the samples are unknown\n", counts.unknown);
  }
  if (state.photographs()) output.json["unreadable"] = unreadable;
  if (unreadable > 0) output.text += unreadable_text(unreadable);
  return output;
}

Output run(State& state, Context& context) {
  Wanted& wanted = state.wanted;
  wanted.reasons = static_cast<std::size_t>(state.reasons);
  check(state, context);
  Processes& processes = context.processes;
  ThreadPool pool(context.threads());
  const Recogniser model = open_recogniser(state, wanted, pool);
  if (wanted.reject) warn(context, model.weakness);
  const Ranking ranking(model.seen, model.gamma, model.temperature, state.among);
  std::vector<ListedImage> photos;
  if (state.photographs()) photos = photos_of(state.input, context.progress);
  std::optional<PredictionWriter> writer;
  together(processes, [&] {
    if (processes.rank() == 0) writer.emplace(state.out, format_of(state, context.common.json), wanted, model, photos);
  });
  std::optional<PhotoRows> photographs;
  FeatureRows input;
  if (state.photographs()) {
    photographs.emplace(std::move(photos), model.source, state.backbone, pool, context.progress);
    input = {photographs->network(), photographs->total(), photographs->cols(),
             [&](std::size_t count) { return photographs->next(count); }};
  } else {
    input = feature_rows(state.input.front(), model.source, context.progress, state.backbone.memory_limit);
    if (!state.standard_input()) warn(context, source_doubt(model.source, std::filesystem::path(state.input.front())));
  }
  const auto unreadable = [&] { return photographs ? photographs->unreadable() : std::span<const SampleImage>(); };
  if (input.cols != model.dimensions)
    throw Error(BadInput{input.name, "features", fmt::format("{} per sample, as in training", model.dimensions),
                         fmt::format("{}", input.cols), "use the features that the model was trained on"});
  constexpr std::size_t kMostRanked = 1'000'000;  // classes of some samples that are held at a time
  constexpr std::size_t kMostExplained = 64;      // samples at a time: tens of milliseconds each with many attributes
  const std::size_t candidates = ranking.candidates().size(), batch = static_cast<std::size_t>(state.batch),
                    top = wanted.coverage ? 1 : std::min(static_cast<std::size_t>(state.top), candidates),
                    held = std::max(wanted.coverage ? candidates : top, wanted.reasons),
                    rows_at_a_time = std::clamp<std::size_t>(kMostRanked / held, 1,
                                                             wanted.reasons > 0 ? kMostExplained : kMostRanked);
  const double in_sets =
      wanted.coverage ? static_cast<double>(std::min(batch, rows_at_a_time)) * static_cast<double>(candidates) : 0;
  require_memory(
      state.backbone.memory_limit,
      scoring_bytes(model.names.size(), model.outputs, model.dimensions, batch) +
          12.0 * static_cast<double>(batch) * static_cast<double>(input.cols) + 3 * sizeof(RankedClass) * in_sets +
          3.0 * sizeof(Contribution) * static_cast<double>(std::min(batch, rows_at_a_time) * wanted.reasons) +
          (photographs ? photographs->decoding_bytes() : 0),
      "prediction",
      state.photographs() ? "raise the limit, or lower --max-pixels or --threads" : "raise the limit or lower --batch");
  Counts counts;
  std::size_t samples = 0;
  try {
    // Written as it is computed, so that memory does not grow with the input.
    for (;;) {
      const std::size_t done = samples + unreadable().size();
      const char* unit = state.photographs() ? "photographs" : "samples";
      report(context.progress, {"predict", done, input.total, unit});
      const MatrixView<const float> rows = input.next(batch);
      if (rows.rows() == 0) break;
      for (std::size_t first = 0; first < rows.rows(); first += rows_at_a_time) {
        if (first > 0) report(context.progress, {"predict", done + first, input.total, unit});
        const std::size_t count = std::min(rows_at_a_time, rows.rows() - first);
        const Share own = processes.share(count);
        const MatrixView<const float> part(rows.data() + (first + own.first) * rows.cols(), own.count, rows.cols());
        const Predictions found = gathered(predictions_of(model, ranking, part, top, wanted, pool), processes);
        if (!writer) continue;
        write(found, model, photographs ? photographs->images().subspan(first, count) : std::span<const SampleImage>(),
              *writer, counts);
      }
      samples += rows.rows();
    }
  } catch (...) {
    if (writer) context.object_is_open = writer->break_off();
    throw;
  }
  if (samples == 0)
    throw Error(BadInput{input.name, "", "rows of comma-separated numbers", "only a header", "write it again"});
  if (!writer) return Output{};
  writer->finish(unreadable());
  if (!unreadable().empty() && state.out.empty() && !state.table && !context.common.json) {
    context.print("");  // the line of progress goes first; CSV has no place for the count
    say(fmt::format("warning: {}", unreadable_text(unreadable().size())));
  }
  return told(state, counts, top, candidates, unreadable().size());
}

}  // namespace

Command predict_command() {
  auto state = std::make_shared<State>();
  Command command{"predict", "predict the classes of new samples, with confidences",
                  "parsnets predict out/demo.safetensors data/demo/features.npy --top 3"};
  command.runs_in_processes = true;
  command.by_place = {"model", "input"};
  command.options.text("model", state->model, "model file or device file")
      .texts("input", state->input,
             "features of the samples, one row each: a .npy, .npz, .mat or .csv file, or - for .npy or .csv on "
             "standard input; or photographs (JPEG, PNG, WebP, BMP): files and folders; an image is named "
             "by its path below the folder when one folder is given, else by the path as given")
      .path("out", state->out,
            "file to write instead of standard output: .csv or .json by its ending; replaced when all is done")
      .integer("top", state->top, 1, 100000, "number of classes per sample")
      .choice("among", state->among, {{"all", Among::all}, {"seen", Among::seen}, {"unseen", Among::unseen}},
              "candidate classes")
      .flag("reject", state->wanted.reject,
            "report samples of no class of the model as unknown, and why; needs a calibrated model")
      .share("coverage", state->wanted.coverage,
             "print the set of classes that contains the right one with this probability, instead of the best "
             "classes; needs a calibrated model")
      .automatic("no sets")
      .integer("explain", state->reasons, 0, 100000,
               "number of attributes to print that decided for the best class against the next; see also 'parsnets "
               "explain'")
      .flag("table", state->table, "print a human-readable table instead of CSV");
  add_photo_options(command.options, state->backbone);
  command.options.integer("batch", state->batch, 1, 1000000,
                          "samples per batch, of photographs at most 32; results are written after each");
  add_memory_limit(command.options, state->backbone.memory_limit);
  add_sha256(command.options, state->sha256);
  command.run = [state](Context& context) { return run(*state, context); };
  return command;
}

}  // namespace parsnets::cli
