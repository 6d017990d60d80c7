#include "train/fit_checkpoint.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_file.hpp"
#include "data/sample_set.hpp"
#include "formats/checkpoint.hpp"
#include "train/train_options.hpp"

namespace parsnets {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FoldResult, zsl, h, gamma, temperature)

namespace {

void read_into(const Checkpoint& file, const char* name, Matrix<float>& values) {
  Matrix<float> read = file.matrix(name);
  if (read.rows() != values.rows() || read.cols() != values.cols())
    file.refuse(fmt::format("'{}' of {} x {}", name, values.rows(), values.cols()),
                fmt::format("{} x {}", read.rows(), read.cols()));
  values = std::move(read);
}

/// Calls read(checkpoint, its state as JSON).
template <class F>
auto reading(const std::filesystem::path& path, const std::string& fingerprint, const F& read) {
  const Checkpoint file(path, fingerprint);
  try {
    return read(file, parse_json(file.state(), path.string() + ", state"));
  } catch (const nlohmann::json::exception&) {
    file.refuse("an undamaged checkpoint", "a state that cannot be read");
  }
}

}  // namespace

std::string fit_fingerprint(const Dataset& data, const std::vector<std::int32_t>& rows, const TrainOptions& options,
                            const std::vector<std::int32_t>& judged) {
  TrainOptions steering = options;
  steering.run.memory_limit = 0;
  Fingerprint of_data;
  for (const auto& name : data.class_names) of_data.add(name.data(), name.size());
  of_data.matrix(MatrixView<const float>(data.semantics.values.view()));
  for (const auto* list : {&rows, &judged})
    for (const auto r : *list) {
      of_data.value(r);
      of_data.value(data.labels[static_cast<std::size_t>(r)]);
    }
  return fmt::format("{} {} {:016x} {} {} seed {}", data.name, rows.size(), of_data.get(),
                     features_checksum(data.features, rows), options_text(steering), options.run.seed);
}

void save_refinement(const std::filesystem::path& file, const std::string& fingerprint, const DescentPlace& place,
                     const Model& model) {
  nlohmann::json json{
      {"steps", place.steps}, {"length", place.length}, {"natural", place.natural}, {"trace", nlohmann::json::array()}};
  for (const ObjectiveStep& step : place.trace)
    json["trace"].push_back({step.objective, *step.loss, step.mmg, step.step, *step.slope});
  write_checkpoint(
      file, fingerprint, json.dump(),
      {checkpoint_part("shared", model.shared.view()), checkpoint_part("networks", model.networks.view())});
}

DescentPlace load_refinement(const std::filesystem::path& file, const std::string& fingerprint, Model& model) {
  return reading(file, fingerprint, [&](const Checkpoint& read, const nlohmann::json& json) {
    DescentPlace place{
        json.at("steps").get<int>(), json.at("length").get<double>(), json.at("natural").get<double>(), {}};
    for (const auto& step : json.at("trace")) {
      const auto value = [&](std::size_t i) { return step.at(i).get<double>(); };
      place.trace.push_back({value(0), std::nullopt, value(1), value(2), value(3), value(4)});
    }
    read_into(read, "shared", model.shared);
    read_into(read, "networks", model.networks);
    return place;
  });
}

void save_fold(const std::filesystem::path& file, const std::string& fingerprint, const FoldState& state) {
  nlohmann::json json = state.result;
  json["field"] = state.field.has_value();
  if (!state.field) return write_checkpoint(file, fingerprint, json.dump(), {});
  const FieldFold& field = *state.field;
  json["labels"] = field.labels;
  json["unseen"] = field.unseen;
  json["field_gamma"] = field.gamma;
  json["least_length"] = field.least_length;
  json["map"] = {field.map.width, field.map.ridge};
  write_checkpoint(
      file, fingerprint, json.dump(),
      {checkpoint_part("samples", field.samples.view()), checkpoint_part("held", field.held.view()),
       checkpoint_part("fit", field.fit.view()), checkpoint_part("map_seen", field.map.seen.view()),
       checkpoint_part("map_moving", field.map.moving.view()), checkpoint_part("map_means", field.map.means.view())});
}

FoldState load_fold(const std::filesystem::path& file, const std::string& fingerprint) {
  return reading(file, fingerprint, [&](const Checkpoint& read, const nlohmann::json& json) {
    FoldState state{json.get<FoldResult>(), {}};
    if (!json.at("field").get<bool>()) return state;
    state.field.emplace();
    state.field->samples = read.matrix("samples");
    state.field->held = read.matrix("held");
    state.field->fit = read.matrix("fit");
    state.field->map = {read.matrix("map_seen"), read.matrix("map_moving"), read.matrix("map_means"),
                        json.at("map").at(0).get<double>(), json.at("map").at(1).get<double>()};
    state.field->least_length = json.at("least_length").get<double>();
    state.field->labels = json.at("labels").get<std::vector<std::size_t>>();
    state.field->unseen = json.at("unseen").get<std::size_t>();
    state.field->gamma = json.at("field_gamma").get<double>();
    return state;
  });
}

bool first_process_has(const std::filesystem::path& file, Processes* group) {
  std::error_code ignored;
  std::string found = std::filesystem::exists(file, ignored) ? "y" : "n";
  if (group != nullptr) group->broadcast(found);
  return found == "y";
}

}  // namespace parsnets
