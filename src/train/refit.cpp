#include "train/refit.hpp"

#include <nlohmann/json.hpp>

#include "train/fitter.hpp"
#include "train/train_options.hpp"

namespace parsnets {

TrainOptions options_of(const Model& model) {
  TrainOptions options;
  train_option_table(options).from_json(nlohmann::json::parse(model.options.empty() ? "{}" : model.options),
                                        "the model's options");
  options.run.seed = model.record.seed;
  return options;
}

Model refit(const TrainOptions& options, const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool,
            ProgressObserver* progress) {
  return Fitter(data, std::move(rows), pool, progress).fit(resolve_options(options, data));
}

}  // namespace parsnets
