#include "train/fitter.hpp"

#include "train/train_options.hpp"

namespace parsnets {

Model start_model(const Dataset& data, std::size_t dimensions, const std::vector<std::int32_t>& classes) {
  Model model;
  model.dimensions = dimensions;
  model.classes.names = data.class_names;
  model.classes.semantics = Matrix<float>::copy_of(data.semantics.values.view());
  model.classes.seen.assign(data.classes(), 0);
  for (const auto c : classes) model.classes.seen[static_cast<std::size_t>(c)] = 1;
  model.attribute_names = data.semantics.attribute_names;
  return model;
}

Model Fitter::fit(const TrainOptions& o, const std::filesystem::path& checkpoint, TrainRun* run,
                  const DescentObserver& observer) {
  Model model = start_model(stages_.data, stages_.data.features.cols(), stages_.classes);
  if (std::holds_alternative<ParsNetsOptions>(o.method))
    fit_parsnets(stages_, o, model, observer, checkpoint.empty() ? "" : checkpoint.string() + ".steps");
  else if (std::holds_alternative<PaperOptions>(o.method))
    paper_.fit(o, model, run);
  else
    fit_baseline(stages_, o, model);
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
