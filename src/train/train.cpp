#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/machine.hpp"
#include "data/sample_set.hpp"
#include "data/semantics.hpp"
#include "parsnets/error.hpp"
#include "parsnets/training.hpp"
#include "train/choose_field.hpp"
#include "train/fitter.hpp"
#include "train/open_set_samples.hpp"
#include "train/place_samples.hpp"
#include "train/provenance.hpp"
#include "train/scale_gamma.hpp"
#include "train/selection.hpp"
#include "train/train_options.hpp"
#include "train/train_run.hpp"

namespace parsnets {

namespace {

/// With few classes a fold says little: gamma on two held-out classes varies more than it helps. So folds are drawn
/// until some two dozen classes have been held out, and three times as many for the automatic search, which compares
/// many candidates. Beside the split's own validation classes they are drawn where a fit in class space costs little.
int fold_count(const TrainOptions& o, const Dataset& data) {
  constexpr int kFewest = 3, kMost = 12, kHeldOut = 24;
  const bool automatic = o.search.kind == Search::automatic,
             in_class_space = std::holds_alternative<ParsNetsOptions>(o.method),
             named = !data.split.validation_drawn && !in_class_space;
  if (o.calibration.folds > 0) return o.calibration.folds;
  if (std::holds_alternative<PaperOptions>(o.method) || named) return 1;
  if (o.search.kind == Search::grid) return data.split.validation_drawn ? kFewest : 1;
  const int fewest = automatic ? kFewest + 1 : kFewest, wanted = automatic ? 3 * kHeldOut : kHeldOut,
            held = std::max(1, static_cast<int>(distinct(labels_of(data, data.split.val)).size())),
            seen = static_cast<int>(data.seen_classes().size());  // with more folds, one class each would be repeated
  return std::clamp((wanted + held - 1) / held, fewest, std::min(kMost, std::max(seen, fewest)));
}

}  // namespace

Model train(const Dataset& data, const TrainOptions& given, ThreadPool& pool, ProgressObserver* progress, TrainRun* run,
            Processes* processes) {
  const auto start = std::chrono::steady_clock::now();
  if (data.features.empty())
    throw Error(BadInput{data.name, "features", "features to train on", "none", "add a features file"});
  if (data.split.trainval.empty())
    throw Error(BadInput{data.name, "split", "training samples", "none", "check the split"});
  check_finite_rows(data.features, data.split.trainval, features_source(data));
  if (given.search.kind == Search::automatic && given.run.resume)
    throw Error(ErrorCode::usage,
                fmt::format("{} conflicts with {}", option_name("search", "auto"), option_name("resume")));
  const bool several_tables = !data.semantics.tables.empty();
  if (several_tables && method_name(given.method) == "dap")
    throw Error(ErrorCode::usage,
                fmt::format("{} requires one table of semantics, found '{}': its attributes are yes or no",
                            option_name("method", "dap"), data.semantics.name));
  TrainOptions wanted = given, options = resolve_options(wanted, data);
  std::vector<std::string> warnings = semantic_warnings(data);
  if (const std::string note = reduced_paper(options, data); !note.empty()) warnings.push_back(note);
  const bool searches = options.search.kind != Search::none;
  validate(options);

  if (options.calibration.false_accept > 0) require_open_set_classes(data);

  const SamplePlace place = place_samples(options, data, processes);
  Selected selected;
  ChosenWeights weighed;
  ValidationRecord validation;
  const bool weighs =
      several_tables && semantics_of(options.method).weights.empty() && options.search.kind != Search::automatic;
  if (searches || options.calibration.enabled || weighs) {
    const auto folds = validation_folds(data, fold_count(options, data), options.run.seed);
    if (folds.empty() && searches)
      throw Error(BadInput{data.name, "split", "validation classes, or at least three seen classes to draw them from",
                           "neither", "train without " + option_name("search")});
    warn_of_single_classes(folds, warnings);
    if (weighs && !folds.empty()) {
      weighed = choose_semantic_weights(data, options, folds, pool, progress, place);
      semantics_of(options.method).weights = semantics_of(wanted.method).weights = weighed.weights;
    }
    if (!folds.empty() && (searches || options.calibration.enabled)) {
      selected = select_options(data, wanted, folds, pool, progress, place);
      options = selected.winner.options;
      validation = selected.validation;
      if (options.calibration.enabled) validation.gamma_from = "validation classes";
      if (std::holds_alternative<ParsNetsOptions>(options.method)) {
        const double of_folds = selected.winner.gamma;
        selected.winner.gamma = scale_gamma(of_folds, folds, data.seen_classes(), data, semantics_of(options.method));
        if (selected.field) scale_shifts(selected.field->settings, of_folds, selected.winner.gamma);
      }
      validation.folds = folds.size();
      validation.classes_from = data.split.validation_from;
      if (const std::size_t more = folds.size() - 1; more > 0)
        validation.classes_from +=
            fmt::format("; {} more fold{} {}", more, more == 1 ? "" : "s",
                        data.split.validation_drawn ? "with the seeds after it" : "drawn from the seen classes");
      validation.zsl = selected.winner.result.zsl;
      validation.h = selected.winner.result.h;
    }
  }
  if (semantics_of(options.method).weights.empty()) {
    semantics_of(options.method).weights = equal_weights(data.semantics.tables.size());
    warnings.push_back("the tables of semantics have equal weights: they were not chosen on validation classes");
  }
  auto checkpoint = options.run.checkpoint;
  if (!checkpoint.empty()) checkpoint += ".final";
  Fitter fitter(data, data.split.trainval, pool, progress, needs_all_samples(options.method) ? SamplePlace{} : place);
  Model model = fitter.fit(options, checkpoint, run);
  model.gamma = options.calibration.enabled ? selected.winner.gamma : 0;
  model.temperature = selected.winner.temperature;
  model.record.data = provenance(data);
  model.record.seed = options.run.seed;
  model.record.asked = request_of(given, data);
  model.record.validation = std::move(validation);
  if (selected.field) {
    model.field = selected.field->settings;
    model.record.field = selected.field->record;
  }
  model.record.chosen = weighed.choice;
  model.record.selection = std::move(weighed.trace);
  if (searches) {
    auto& record = model.record;
    record.chosen += (record.chosen.empty() ? "" : " ") + selected.winner.result.choice;
    record.selection.insert(record.selection.end(), selected.trace.begin(), selected.trace.end());
    record.left_out = std::move(selected.left_out);
  }
  model.record.warnings = std::move(warnings);
  model.options = options_text(options);
  if (options.calibration.false_accept > 0) {
    OpenSetOptions open_set;
    open_set.false_accept = options.calibration.false_accept;
    open_set.seed = options.run.seed;
    calibrate_open_set(model, data, open_set, pool, progress);
  }
  if (run != nullptr) {
    run->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    run->peak_memory = peak_memory();
    run->bytes_sent = processes != nullptr ? processes->bytes() : 0;
    run->streamed = !place.kept;
  }
  return model;
}

void remove_checkpoints(const std::filesystem::path& checkpoint) {
  if (checkpoint.empty()) return;
  std::error_code ignored;
  const auto folder = checkpoint.parent_path().empty() ? std::filesystem::path(".") : checkpoint.parent_path();
  const std::string name = checkpoint.filename().string();
  std::vector<std::filesystem::path> files;  // CHECKPOINT.final, .fold3.done, and what a kill left of them
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(name + ".final") || file.starts_with(name + ".fold")) files.push_back(entry.path());
  }
  for (const auto& file : files) std::filesystem::remove(file, ignored);
}

}  // namespace parsnets
