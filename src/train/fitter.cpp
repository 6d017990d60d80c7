#include "train/fitter.hpp"

#include "train/fit_baseline.hpp"
#include "train/fit_paper.hpp"
#include "train/fit_parsnets.hpp"
#include "train/stages.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

/// A model without networks: the class set.
Model start(const Stages& stages) {
  Model model;
  model.dimensions = stages.data.features.cols();
  model.classes.names = stages.data.class_names;
  model.classes.semantics = Matrix<float>::copy_of(stages.data.semantics.values.view());
  model.classes.seen.assign(stages.data.classes(), 0);
  for (const auto c : stages.classes) model.classes.seen[static_cast<std::size_t>(c)] = 1;
  model.attribute_names = stages.data.semantics.attribute_names;
  return model;
}

}  // namespace

struct Fitter::State {
  Stages stages;
  PaperFitter paper{stages};
};

Fitter::Fitter(const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool, ProgressObserver* progress,
               SamplePlace place)
    : state_(new State{Stages(data, std::move(rows), pool, progress, place)}) {}

Fitter::~Fitter() = default;

Model Fitter::fit(const TrainOptions& o, const std::filesystem::path& checkpoint, TrainRun* run,
                  const DescentObserver& observer) {
  Stages& stages = state_->stages;
  Model model = start(stages);
  if (std::holds_alternative<ParsNetsOptions>(o.method)) {
    const std::filesystem::path steps = checkpoint.empty() ? "" : checkpoint.string() + ".steps";
    fit_parsnets(stages, o, model, observer, steps);
    return model;
  }
  if (std::holds_alternative<PaperOptions>(o.method))
    state_->paper.fit(o, model, checkpoint, run);
  else
    fit_baseline(stages, o, model);
  return model;
}

TrainOptions options_of(const Model& model) {
  TrainOptions options = options_from_text(model.options, "the model's options");
  options.run.seed = model.record.seed;
  return options;
}

Model refit(const TrainOptions& options, const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool,
            ProgressObserver* progress) {
  return Fitter(data, std::move(rows), pool, progress).fit(resolve_options(options, data));
}

}  // namespace parsnets
