#include "train/refit.hpp"

#include <nlohmann/json.hpp>

#include "train/fitter.hpp"
#include "train/train_options.hpp"

namespace parsnets {

TrainOptions options_of(const Model& model) {
  TrainOptions options;
  train_option_table(options).from_json(nlohmann::json::parse(model.options.empty() ? "{}" : model.options),
                                        "the model's options");
  const auto record = nlohmann::json::parse(model.record.empty() ? "{}" : model.record);
  options.run.seed = record.value("seed", std::uint64_t{1});
  return options;
}

Model refit(const TrainOptions& options, const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool,
            ProgressObserver* progress) {
  nlohmann::ordered_json unused;
  return Fitter(data, std::move(rows), pool, progress).fit(resolve_options(options, data), unused);
}

}  // namespace parsnets
