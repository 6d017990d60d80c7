// parsnets predict: classes and confidences for the rows of a features file, streamed in batches.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/memory_limit.hpp"
#include "base/together.hpp"
#include "command.hpp"
#include "eval/score_source.hpp"
#include "feature_rows.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "prediction_writer.hpp"
#include "recogniser.hpp"

namespace parsnets::cli {

namespace {

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

/// Verdicts, sets and explanations are of all classes.
void check_wanted(const Wanted& wanted, Among among, const std::vector<std::string>& given) {
  if (among != Among::all && wanted.coverage)
    throw Error(ErrorCode::usage, "--coverage conflicts with --among: sets are made of all classes");
  if (among != Among::all && wanted.reject)
    throw Error(ErrorCode::usage, "--reject conflicts with --among: samples are compared with all classes");
  if (among != Among::all && wanted.reasons > 0)
    throw Error(ErrorCode::usage, "--explain conflicts with --among: the best class is compared with all classes");
  if (wanted.coverage && std::ranges::find(given, "top") != given.end())
    throw Error(ErrorCode::usage, "--coverage conflicts with --top: the coverage decides how many classes there are");
}

}  // namespace

Command predict_command() {
  struct State {
    std::string model, input;
    std::filesystem::path out;
    int top = 5, batch = 1024, reasons = 0;
    bool table = false;
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
      .integer("explain", state->reasons, 0, 100000,
               "number of attributes to print that decided for the best class against the next; see also 'parsnets "
               "explain'")
      .flag("table", state->table, "print a table for people instead of CSV")
      .integer("batch", state->batch, 1, 1000000, "samples per batch; results are written after each");
  add_memory_limit(command.options, state->memory_limit);
  command.run = [state](Context& context) {
    if (state->model.empty() || state->input.empty())
      throw Error(ErrorCode::usage, "predict: expected --model FILE and --input FILE");
    Wanted& wanted = state->wanted;
    wanted.reasons = static_cast<std::size_t>(state->reasons);
    check_wanted(wanted, state->among, context.given);
    if (state->table && (context.common.json || !state->out.empty()))
      throw Error(ErrorCode::usage, fmt::format("--table conflicts with {}: tables are for people to look at",
                                                context.common.json ? "--json" : "--out"));
    check_out(state->out, {state->model, state->input});
    Processes& processes = context.processes;
    if (processes.size() > 1 && state->input == "-")
      throw Error(ErrorCode::usage, "--input: expected a file that every process can read, found standard input");
    ThreadPool pool(static_cast<unsigned>(context.common.threads));
    const Recogniser model = open_recogniser(state->model, wanted, pool);
    const Ranking ranking(model.seen, model.gamma, model.temperature, state->among);
    PredictionColumns columns;
    if (state->table) columns.format = PredictionFormat::table;
    if (writes_json(state->out, context.common.json)) columns.format = PredictionFormat::json;
    columns.coverage = wanted.coverage;
    columns.reasons = wanted.reasons > 0;
    columns.why = wanted.reject && model.why;
    std::optional<PredictionWriter> writer;
    together(processes, [&] {
      if (processes.rank() == 0) writer.emplace(state->out, columns, model);
    });
    FeatureRows input(state->input, model.source, context.progress, state->memory_limit);
    if (input.cols() != model.dimensions)
      throw Error(BadInput{input.name(), "features", fmt::format("{} per sample, as in training", model.dimensions),
                           fmt::format("{}", input.cols()), "use the features that the model was trained on"});
    constexpr std::size_t kMostRanked = 1'000'000;  // classes of some samples that are held at a time
    const std::size_t candidates = ranking.candidates().size(),
                      top = wanted.coverage ? 1 : std::min(static_cast<std::size_t>(state->top), candidates),
                      rows_at_a_time = std::max<std::size_t>(
                          kMostRanked / std::max(wanted.coverage ? candidates : top, wanted.reasons), 1);
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
        const Predictions found = gathered(predictions_of(model, ranking, part, top, wanted, pool), processes);
        if (!writer) continue;
        std::span<const RankedClass> left(found.classes);
        const std::size_t reasons = found.reasons.size() / count;
        for (std::size_t r = 0; r < count; ++r) {
          Prediction one{left.first(found.counts[r])};
          left = left.subspan(found.counts[r]);
          if (wanted.reject) one.verdict = &found.verdicts[r];
          const bool is_unknown = wanted.reject && one.verdict->is_unknown;
          if (is_unknown && model.why) one.why = model.why(*one.verdict);
          if (wanted.reasons > 0) one.runner_up = found.runners_up[r];
          one.reasons = std::span(found.reasons).subspan(r * reasons, reasons);
          writer->add(one);
          unknown += is_unknown;
        }
        classes += found.classes.size();
        writer->flush();
      }
    }
    if (samples == 0)
      throw Error(BadInput{input.name(), "", "rows of comma-separated numbers", "only a header", "write it again"});
    if (!writer) return Output{};
    writer->finish({});
    Output output;
    output.already_printed = state->out.empty() && !state->table;
    output.json = {{"out", state->out.string()}, {"samples", samples}};
    output.text = fmt::format("{}{} samples, ", state->table ? "\n" : state->out.string() + ": ", samples);
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
