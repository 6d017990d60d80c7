#include "experiments/bench_runs.hpp"

#include "experiments/bench_uncertainty.hpp"
#include "experiments/evaluation_json.hpp"
#include "parsnets/evaluation.hpp"
#include "store/train_record_json.hpp"

namespace parsnets {

using Json = nlohmann::ordered_json;

std::vector<double> values_of(const Json& runs, const char* at) {
  const Json::json_pointer pointer(at);
  std::vector<double> values;
  for (const auto& run : runs)
    if (run.contains(pointer)) values.push_back(run.at(pointer).get<double>());
  return values;
}

Json bench_run(const Dataset& data, const TrainOptions& options, ThreadPool& pool, ProgressObserver* progress,
               const std::function<void(const Model&, const TrainRun&, std::uint64_t)>& keep) {
  TrainRun run;
  const Model model = train(data, options, pool, progress, &run);
  const Evaluation result = evaluate(model, data, pool, progress);
  Json json = evaluation_json(result, model.record.validation.gamma_from);
  json["intervals"] = intervals_json(bootstrap_intervals(outcomes_of(data, {&result.correct, 1}), pool));
  json["correct"] = correctness_json(result.correct);
  json["seed"] = options.run.seed;
  json["seconds"] = run.seconds;
  json["model_bytes"] = model_file_bytes(model);
  json["options"] = Json::parse(model.options);
  json["record"] = to_json(model.record);
  if (keep) keep(model, run, options.run.seed);
  return json;
}

Json bench_summary(const Json& runs) {
  Json summary = Json::object();
  const std::pair<const char*, std::vector<double>> metrics[] = {{"zsl", values_of(runs, "/zsl/top1_per_class")},
                                                                 {"u", values_of(runs, "/gzsl/u")},
                                                                 {"s", values_of(runs, "/gzsl/s")},
                                                                 {"h", values_of(runs, "/gzsl/h")},
                                                                 {"ausuc", values_of(runs, "/gzsl/ausuc")}};
  for (const auto& [name, values] : metrics) {
    if (values.empty()) continue;
    const Interval interval = confidence_interval(values);
    summary[name] = {{"mean", interval.mean}, {"sd", interval.sd}, {"low", interval.low}, {"high", interval.high}};
  }
  return summary;
}

}  // namespace parsnets
