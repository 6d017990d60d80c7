#include "train/fit_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "data/sample_set.hpp"
#include "formats/safetensors.hpp"
#include "parsnets/error.hpp"
#include "solvers/svr_fingerprint.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

constexpr const char* kChecksum = "payload_crc32";

template <class T>
TensorView tensor(const char* name, const char* type, const Matrix<T>& values) {
  return {name,
          type,
          {values.rows(), values.cols()},
          reinterpret_cast<const std::byte*>(values.data()),
          values.size() * sizeof(T)};
}

void save(const std::filesystem::path& file, const std::string& fingerprint, const nlohmann::json& state,
          const std::vector<TensorView>& tensors) {
  write_safetensors(file,
                    {{"format", "parsnets-checkpoint"},
                     {"fit", fingerprint},
                     {"state", state.dump()},
                     {kChecksum, payload_checksum(tensors)}},
                    tensors);
}

[[noreturn]] void refuse(const SafetensorsFile& file, const std::string& expected, const std::string& found) {
  throw Error(BadInput{file.name(), "checkpoint", expected, found, "remove the file to start again"});
}

nlohmann::json state_of(const SafetensorsFile& file, const std::string& fingerprint) {
  const auto& metadata = file.metadata();
  const auto value = [&](const char* name) {
    const auto found = metadata.find(name);
    return found == metadata.end() ? std::string() : found->second;
  };
  if (value("format") != "parsnets-checkpoint") refuse(file, "a checkpoint of training", "another file");
  if (value(kChecksum) != payload_checksum(file.payload())) refuse(file, "an undamaged checkpoint", "another checksum");
  if (value("fit") != fingerprint)
    refuse(file, "the state of training with the same data and options", "that of another training");
  nlohmann::json state = nlohmann::json::parse(value("state"), nullptr, false);
  if (state.is_discarded()) refuse(file, "an undamaged checkpoint", "a state that cannot be read");
  return state;
}

template <class T>
Matrix<T> matrix_of(const SafetensorsFile& file, const char* name) {
  const TensorView* found = file.find(name);
  if (found == nullptr || found->shape.size() != 2 || found->bytes != found->shape[0] * found->shape[1] * sizeof(T))
    refuse(file, fmt::format("a matrix '{}'", name), "none");
  Matrix<T> values(found->shape[0], found->shape[1]);
  if (found->bytes > 0) std::memcpy(values.data(), found->data, found->bytes);
  return values;
}

void read_into(const SafetensorsFile& file, const char* name, Matrix<float>& values) {
  Matrix<float> read = matrix_of<float>(file, name);
  if (read.rows() != values.rows() || read.cols() != values.cols())
    refuse(file, fmt::format("'{}' of {} x {}", name, values.rows(), values.cols()),
           fmt::format("{} x {}", read.rows(), read.cols()));
  values = std::move(read);
}

template <class F>
auto reading(const std::filesystem::path& path, const F& read) {
  const SafetensorsFile file(path);
  try {
    return read(file);
  } catch (const nlohmann::json::exception&) {
    refuse(file, "an undamaged checkpoint", "a state that lacks a field");
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
                     features_checksum(data.features, rows), train_option_table(steering).to_json().dump(),
                     options.run.seed);
}

void save_refinement(const std::filesystem::path& file, const std::string& fingerprint, const DescentPlace& place,
                     const Model& model) {
  nlohmann::json json{
      {"steps", place.steps}, {"length", place.length}, {"natural", place.natural}, {"trace", nlohmann::json::array()}};
  for (const DescentStep& step : place.trace)
    json["trace"].push_back({step.objective, step.loss, step.mmg, step.step, step.slope, step.seconds});
  save(file, fingerprint, json, {tensor("shared", "F32", model.shared), tensor("networks", "F32", model.networks)});
}

DescentPlace load_refinement(const std::filesystem::path& file, const std::string& fingerprint, Model& model) {
  return reading(file, [&](const SafetensorsFile& read) {
    const nlohmann::json json = state_of(read, fingerprint);
    DescentPlace place{
        json.at("steps").get<int>(), json.at("length").get<double>(), json.at("natural").get<double>(), {}};
    for (const auto& step : json.at("trace")) {
      const auto value = [&](std::size_t i) { return step.at(i).get<double>(); };
      place.trace.push_back({value(0), value(1), value(2), value(3), value(4), value(5)});
    }
    read_into(read, "shared", model.shared);
    read_into(read, "networks", model.networks);
    return place;
  });
}

void save_fold(const std::filesystem::path& file, const std::string& fingerprint, const FoldState& state) {
  nlohmann::json json{{"zsl", state.result.zsl},
                      {"h", state.result.h},
                      {"gamma", state.result.gamma},
                      {"temperature", state.result.temperature},
                      {"field", state.field.has_value()}};
  if (!state.field) return save(file, fingerprint, json, {});
  const FieldFold& field = *state.field;
  json["labels"] = field.labels;
  json["unseen"] = field.unseen;
  json["placed"] = field.placed;
  json["field_gamma"] = field.gamma;
  save(file, fingerprint, json,
       {tensor("samples", "F32", field.samples), tensor("held", "F32", field.held), tensor("fit", "F32", field.fit)});
}

FoldState load_fold(const std::filesystem::path& file, const std::string& fingerprint) {
  return reading(file, [&](const SafetensorsFile& read) {
    const nlohmann::json json = state_of(read, fingerprint);
    FoldState state;
    state.result = {json.at("zsl").get<double>(), json.at("h").get<double>(), json.at("gamma").get<double>(),
                    json.at("temperature").get<double>()};
    if (!json.at("field").get<bool>()) return state;
    state.field.emplace();
    state.field->samples = matrix_of<float>(read, "samples");
    state.field->held = matrix_of<float>(read, "held");
    state.field->fit = matrix_of<float>(read, "fit");
    state.field->labels = json.at("labels").get<std::vector<std::size_t>>();
    state.field->unseen = json.at("unseen").get<std::size_t>();
    state.field->placed = json.at("placed").get<std::size_t>();
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
