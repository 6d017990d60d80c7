#include "store/train_record_json.hpp"

#include <fmt/format.h>

#include <concepts>
#include <limits>

#include "base/json_file.hpp"
#include "data/feature_source.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

template <class T, class Part>
concept Is = std::same_as<std::remove_const_t<T>, Part>;

// The keys of each part with their fields, in the order of the file. Writing and reading share them: `io` is a Writer
// or a RecordReader. A key that is `optional` is absent where its field has the default value.

void fields(auto& io, Is<std::pair<std::size_t, std::string>> auto& list) {
  io.required("samples", list.first, "crc32", list.second);
}

void fields(auto& io, Is<SplitProvenance> auto& split) {
  io.required("trainval", split.trainval, "test_seen", split.test_seen, "test_unseen", split.test_unseen, "train",
              split.train, "val", split.val);
  io.optional("version", split.version, "file", split.file);
}

void fields(auto& io, Is<StatisticsPart> auto& part) {
  io.optional("file", part.file);
  io.required("samples", part.samples, "weight", part.weight);
}

void fields(auto& io, Is<DataProvenance> auto& data) {
  io.required("name", data.name, "features", data.features, "semantics", data.semantics, "samples", data.samples,
              "dimensions", data.dimensions, "split", data.split);
  io.optional("known_as", data.known_as);
  if (io.has("trained", !data.trained_samples.empty() || !data.trained_crc32.empty()))
    io.object("trained",
              [&](auto& part) { part.required("samples", data.trained_samples, "crc32", data.trained_crc32); });
  io.optional("statistics", data.statistics, "features_path", data.features_path, "semantics_path", data.semantics_path,
              "split_path", data.split_path, "source", data.source);
}

void fields(auto& io, Is<TrainingRequest> auto& asked) {
  io.required("options", asked.options, "folder", asked.folder);
  io.optional("load_seed", asked.load_seed);
}

void fields(auto& io, Is<ValidationRecord> auto& validation) {
  io.required("gamma_from", validation.gamma_from);
  if (!io.has("folds", validation.folds > 0)) return;
  io.required("folds", validation.folds, "classes_from", validation.classes_from, "zsl", validation.zsl, "h",
              validation.h);
  io.optional("default_zsl", validation.default_zsl, "default_h", validation.default_h, "gain", validation.gain,
              "gain_error", validation.gain_error);
}

void fields(auto& io, Is<SelectionStep> auto& step) {
  io.required("choice", step.choice, "zsl", step.zsl, "h", step.h);
}

void fields(auto& io, Is<GateUsage> auto& gates) {
  io.required("usage_min", gates.minimum, "usage_median", gates.median, "usage_max", gates.maximum, "usage_entropy",
              gates.entropy, "samples_per_network", gates.samples);
}

void fields(auto& io, Is<SvrTracePoint> auto& point) {
  io.required("pass", point.pass, "primal", point.primal, "dual", point.dual, "gap", point.relative_gap);
}

void fields(auto& io, Is<SvrCertificate> auto& svr) {
  io.required("c", svr.c, "epsilon", svr.epsilon, "target_scale", svr.target_scale, "relative_gap", svr.relative_gap,
              "converged", svr.converged);
  if (!io.has("primal", svr.primal.has_value())) return;
  io.required("primal", svr.primal, "dual", svr.dual, "passes", svr.passes, "trace", svr.trace);
}

void fields(auto& io, Is<ObjectiveStep> auto& step) {
  io.required("objective", step.objective);
  io.optional("fit", step.fit, "loss", step.loss);
  io.required("mmg", step.mmg, "step", step.step);
  io.optional("slope", step.slope);
}

/// An object of a count and a measure; absent where there is no pair.
void count_and_measure(auto& io, const char* key, auto& pair, const char* count, const char* measure) {
  if (!io.has(key, pair.has_value())) return;
  io.object(key, [&](auto& part) { part.required(count, io.made(pair).first, measure, io.made(pair).second); });
}

void fields(auto& io, Is<FieldRecord> auto& field) {
  io.required("zsl", field.zsl, "h", field.h, "adapted_zsl", field.adapted_zsl, "adapted_h", field.adapted_h,
              "worst_fall", field.worst_fall, "one_example_zsl", field.one_example_zsl, "five_examples_zsl",
              field.five_examples_zsl);
}

void fields(auto& io, Is<RejectionRecord> auto& rejection) {
  io.required("folds", rejection.folds, "classes", rejection.classes, "samples", rejection.samples, "false_accept",
              rejection.false_accept, "accepted", rejection.accepted, "accept_low", rejection.accept_low, "accept_high",
              rejection.accept_high, "rejected_seen", rejection.rejected_seen, "rejected_unseen",
              rejection.rejected_unseen, "auroc", rejection.auroc, "confidence_auroc", rejection.confidence_auroc);
}

void fields(auto& io, Is<Adaptation> auto& adaptation) {
  io.required("samples", adaptation.samples, "convincing", adaptation.convincing, "classes", adaptation.classes,
              "mean_degrees", adaptation.mean_degrees, "likelihood_gain", adaptation.likelihood_gain);
  io.optional("left_out", adaptation.left_out, "form", adaptation.form, "because", adaptation.because);
}

void fields(auto& io, Is<TrainRecord> auto& record) {
  io.required("data", record.data, "seed", record.seed);
  io.optional("asked", record.asked);
  io.required("validation", record.validation);
  if (io.has("selection", !record.selection.empty()))
    io.required("chosen", record.chosen, "selection", record.selection);
  io.optional("left_out", record.left_out);
  count_and_measure(io, "encoder", record.encoder, "dimensions", "reconstruction_error");
  io.optional("gates", record.gates, "svr", record.svr, "joint", record.joint, "orthogonality", record.orthogonality);
  count_and_measure(io, "dap", record.dap, "iterations", "relative_gradient");
  io.optional("refinement", record.refinement, "warnings", record.warnings, "field", record.field, "rejection",
              record.rejection, "adaptations", record.adaptations);
}

class Writer {
 public:
  template <class T>
  static nlohmann::ordered_json written(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
      return value;
    } else {
      Writer part;
      fields(part, value);
      return std::move(part.json_);
    }
  }
  template <class T>
  static nlohmann::ordered_json written(const std::optional<T>& value) {
    return written(*value);
  }
  template <class T>
  static nlohmann::ordered_json written(const std::vector<T>& values) {
    auto list = nlohmann::ordered_json::array();
    for (const T& value : values) list.push_back(written(value));
    return list;
  }

  static nlohmann::ordered_json written(const std::map<std::string, std::string>& values) { return values; }
  static nlohmann::ordered_json written(const FeatureSource& source) { return to_json(source); }

  void required(const char* key, const auto& value, const auto&... more) {
    json_[key] = written(value);
    if constexpr (sizeof...(more) > 0) required(more...);
  }
  template <class T>
  void optional(const char* key, const T& value, const auto&... more) {
    if (value != T{}) required(key, value);
    if constexpr (sizeof...(more) > 0) optional(more...);
  }
  bool has(const char*, bool set) const { return set; }
  void object(const char* key, const auto& body) {
    Writer part;
    body(part);
    json_[key] = std::move(part.json_);
  }
  static const auto& made(const auto& optional) { return *optional; }

 private:
  nlohmann::ordered_json json_ = nlohmann::ordered_json::object();
};

/// Reads one object. Keys that nobody asks for are ignored: a later version may add some, and prediction does not
/// depend on them.
class RecordReader {
 public:
  /// `at`: the path of the object in the record.
  RecordReader(const nlohmann::json& json, const std::string& name, const std::string& at)
      : json_(json), name_(name), at_(at) {
    if (!json.is_object()) mismatch(at, "an object", json);
  }

  void required(const char* key, auto& value, auto&... more) const {
    const std::string at = at_.empty() ? key : at_ + "." + key;
    const auto found = json_.find(key);
    if (found == json_.end()) fail(at, "a value", "none");
    read(*found, at, value);
    if constexpr (sizeof...(more) > 0) required(more...);
  }
  void optional(const char* key, auto& value, auto&... more) const {
    if (json_.contains(key)) required(key, value);
    if constexpr (sizeof...(more) > 0) optional(more...);
  }
  bool has(const char* key, bool) const { return json_.contains(key); }
  void object(const char* key, const auto& body) const {
    const std::string at = at_.empty() ? key : at_ + "." + key;
    const RecordReader part(json_.at(key), name_, at);
    body(part);
  }
  static auto& made(auto& optional) { return optional ? *optional : optional.emplace(); }

  [[noreturn]] void fail(const std::string& at, const char* expected, const std::string& found) const {
    throw Error(BadInput{name_, at, expected, found, "the record is damaged: get the file again"});
  }

 private:
  [[noreturn]] void mismatch(const std::string& at, const char* expected, const nlohmann::json& found) const {
    fail(at, expected, found.is_number() ? found.dump() : found.type_name());
  }

  void read(const nlohmann::json& json, const std::string& at, std::string& value) const {
    if (!json.is_string()) mismatch(at, "text", json);
    value = json.get<std::string>();
  }
  void read(const nlohmann::json& json, const std::string& at, bool& value) const {
    if (!json.is_boolean()) mismatch(at, "true or false", json);
    value = json.get<bool>();
  }
  void read(const nlohmann::json& json, const std::string& at, std::uint64_t& value) const {
    if (!json.is_number_unsigned()) mismatch(at, "a whole number, 0 or more", json);
    value = json.get<std::uint64_t>();
  }
  void read(const nlohmann::json& json, const std::string& at, double& value) const {
    if (!json.is_number() && !json.is_null()) mismatch(at, "a number", json);
    // JSON has no NaN: it is written as null.
    value = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
  }
  template <class T>
  void read(const nlohmann::json& json, const std::string& at, std::optional<T>& value) const {
    read(json, at, value.emplace());
  }
  template <class T>
  void read(const nlohmann::json& json, const std::string& at, std::vector<T>& values) const {
    if (!json.is_array()) mismatch(at, "a list", json);
    values.resize(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) read(json[i], fmt::format("{}[{}]", at, i), values[i]);
  }
  void read(const nlohmann::json& json, const std::string& at, std::map<std::string, std::string>& values) const {
    if (!json.is_object()) mismatch(at, "an object", json);
    for (const auto& [key, value] : json.items()) read(value, at + "." + key, values[key]);
  }
  void read(const nlohmann::json& json, const std::string& at, FeatureSource& source) const {
    source = feature_source_from_json(json, name_, at);
  }
  void read(const nlohmann::json& json, const std::string& at, auto& part) const {
    const RecordReader reader(json, name_, at);
    fields(reader, part);
  }

  const nlohmann::json& json_;
  const std::string &name_, &at_;
};

}  // namespace

nlohmann::ordered_json to_json(const TrainRecord& record) {
  static const TrainRecord empty;
  if (record == empty) return nlohmann::ordered_json::object();
  return Writer::written(record);
}

TrainRecord train_record_from_json(std::string_view text, const std::string& name) {
  const nlohmann::json json = parse_json(text, name);
  TrainRecord record;
  if (json.is_object() && json.empty()) return record;
  const std::string at;
  const RecordReader reader(json, name, at);
  fields(reader, record);
  if (record.data.trained_samples.find_first_not_of("0123456789abcdef") != std::string::npos)
    reader.fail("data.trained.samples", "hexadecimal digits", "other text");
  return record;
}

}  // namespace parsnets
