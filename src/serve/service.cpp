#include "serve/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_file.hpp"
#include "base/row_blocks.hpp"
#include "base/text.hpp"
#include "formats/csv.hpp"
#include "model/prediction.hpp"
#include "parsnets/error.hpp"
#include "parsnets/field.hpp"
#include "parsnets/version.hpp"
#include "serve/http.hpp"
#include "serve/json_reader.hpp"

namespace parsnets {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRanked = 200'000;  // classes of an answer, of all its samples together
constexpr std::size_t kMostNumbers = 2'000'000;

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void append_numbers(std::span<const float> values, std::string& out) {
  out += '[';
  for (const float v : values) fmt::format_to(std::back_inserter(out), "{},", v);
  if (values.empty())
    out += ']';
  else
    out.back() = ']';
}

Json source_json(const FeatureSource& source) {
  static constexpr const char* kPresets[]{"torchvision", "caffe", "tf"};
  return {{"name", source.backbone},     {"sha256", source.sha256},
          {"layer", source.layer},       {"preset", kPresets[static_cast<std::size_t>(source.input.preset)]},
          {"width", source.input.width}, {"height", source.input.height}};
}

/// What rejection allows, and its false-rejection rates on held-out classes: shares from 0 to 1.
Json rejection_json(const Model& model) {
  if (model.rejection.empty()) return {};
  Json json{{"false_accept", model.rejection.false_accept}};
  if (const auto& found = model.record.rejection) {
    json["rejected_seen"] = found->rejected_seen / 100;
    json["rejected_unseen"] = found->rejected_unseen / 100;
    json["auroc"] = found->auroc / 100;
  }
  return json;
}

void require_size(std::size_t rows, std::size_t per_row, std::size_t most, const char* field) {
  if (rows * per_row > most)
    throw HttpError(413, fmt::format("{}: the response would be too large; ask for fewer samples", field),
                    {field, fmt::format("at most {} values in all", most), fmt::format("{}", rows * per_row)});
}

/// Class names of the prediction set of each sample, as JSON.
std::vector<std::string> sets_of(const ServedBank& bank, double coverage, MatrixView<const float> x, ThreadPool& pool) {
  const std::vector<float> thresholds = bank.model.sets.thresholds(coverage, bank.model.classes.seen);
  std::vector<std::string> sets;
  Predictor(bank.model, bank.prepared).visit_scores(x, pool, [&](std::size_t, MatrixView<const float> scores) {
    for (std::size_t r = 0; r < scores.rows(); ++r) {
      std::string set = "[";
      for (const RankedClass& c : bank.ranking.set(scores.row(r), thresholds))
        set += (set.size() > 1 ? "," : "") +
               json_string(bank.model.classes.names[static_cast<std::size_t>(c.class_index)]);
      sets.push_back(set + "]");
    }
  });
  return sets;
}

}  // namespace

Service::Service(Model model, ServedSamples samples, ServiceOptions options)
    : pool_(1),
      samples_(std::move(samples)),
      scale_(model),
      banks_(std::move(model), pool_, samples_.features.view()),
      names_(banks_.original().model),
      device_banks_(banks_.original().model),
      options_(std::move(options)) {
  const Model& served = banks_.original().model;
  limits_ = {served.dimensions,       served.attributes(),   options_.batch,
             samples_.samples.size(), options_.bank_classes, served.classes.names.size()};
}

std::string Service::model_json() const {
  const Model& model = banks_.original().model;
  const DataProvenance& data = model.record.data;
  const Json trained = parse_ordered_json(model.options.empty() ? "{}" : model.options, options_.name);
  Json json{{"name", options_.name},
            {"version", PARSNETS_VERSION},
            {"method", trained.is_object() && trained.contains("method") ? trained["method"] : Json("parsnets")},
            {"dimensions", model.dimensions},
            {"attributes", model.attributes()},
            {"classes", model.classes.names.size()},
            {"seen", std::ranges::count(model.classes.seen, std::uint8_t{1})},
            {"gamma", model.gamma},
            {"temperature", model.temperature}};
  json["data"] = {{"name", data.name},
                  {"features", data.features},
                  {"semantics", data.semantics},
                  {"split", data.split.version.empty() ? data.split.file : data.split.version},
                  {"seed", model.record.seed}};
  json["rejects"] = !model.rejection.empty();
  json["false_accept"] = model.rejection.empty() ? Json() : Json(model.rejection.false_accept);
  json["rejection"] = rejection_json(model);
  json["sets"] = !model.sets.empty();
  json["explains"] = model.direction == Direction::forward;
  json["learns"] = model.targets == Targets::classes;
  json["device_banks"] = device_banks_.possible();
  json["photos"] = options_.photos.has_value();
  json["backbone"] = options_.photos ? source_json(*options_.photos) : Json();
  json["samples"] = samples_.samples.size();
  json["limits"] = {{"body_bytes", options_.body_bytes}, {"image_pixels", options_.pixels},
                    {"batch", options_.batch},           {"bank_classes", options_.bank_classes},
                    {"top", RequestLimits::kTop},        {"photographs", RequestLimits::kPhotographs}};
  return text_of(json);
}

std::string Service::classes_json() const {
  const Model& model = banks_.original().model;
  std::string out = "{\"attributes\":[";
  for (std::size_t a = 0; a < model.attributes(); ++a) {
    std::vector<float> values;
    for (std::size_t c = 0; c < model.classes.names.size(); ++c)
      if (is_described(model.classes, c)) values.push_back(model.classes.semantics(c, a));
    if (values.empty()) values.push_back(0);
    const auto [low, high] = std::ranges::minmax(values);
    const bool whole = std::ranges::all_of(values, [](float v) { return v == std::floor(v); });
    fmt::format_to(std::back_inserter(out), "{}{{\"name\":{},\"minimum\":{},\"maximum\":{}{}}}", a > 0 ? "," : "",
                   json_string(names_.attributes()[a]), low, high, whole ? ",\"step\":1" : "");
  }
  out += "],\"classes\":[";
  for (std::size_t c = 0; c < model.classes.names.size(); ++c) {
    const bool described = is_described(model.classes, c);
    fmt::format_to(std::back_inserter(out),
                   "{}{{\"class\":{},\"seen\":{},\"described\":{},\"attributes\":", c > 0 ? "," : "",
                   json_string(model.classes.names[c]), model.classes.seen[c] != 0, described);
    if (described)
      append_numbers(model.classes.semantics.row(c), out);
    else
      out += "null";
    out += '}';
  }
  return out + "]}";
}

std::string Service::samples_json() const {
  Json json{{"samples", Json::array()}, {"sheet", nullptr}, {"pictures", !samples_.pictures.empty()}};
  for (std::size_t i = 0; i < samples_.samples.size(); ++i) {
    const ServedSample& sample = samples_.samples[i];
    json["samples"].push_back({{"id", i}, {"name", sample.name}, {"class", sample.label}, {"seen", sample.seen}});
  }
  if (!samples_.sheet.bytes.empty())
    json["sheet"] = {
        {"columns", samples_.sheet_columns}, {"size", samples_.sheet_size}, {"pictures", samples_.sheet_places}};
  return text_of(json);
}

Matrix<float> Service::features_of(PredictRequest& request) const {
  if (!request.has_input) throw HttpError({"features", "features, samples or photographs", "none of them"});
  if (!request.samples.empty()) return gather_rows(samples_.features.view(), request.samples);
  auto* values = new std::vector<float>(std::move(request.features));
  return Matrix<float>::adopt(values->data(), request.rows, limits_.dimensions, [values](float*) { delete values; });
}

std::string Service::predict(const PredictRequest& request, MatrixView<const float> x) const {
  const auto bank = banks_.after(names_.resolved(request.bank), pool_);
  const Model& model = bank->model;
  const bool all = request.among == Among::all, reject = request.reject;
  if (reject && model.rejection.empty())
    throw HttpError(400, "the model has no rejection", {"reject", "false", "true"});
  if (reject && !all) throw HttpError(400, "`reject` requires `among` all", {"reject", "false", "true"});
  if (request.coverage && (model.sets.empty() || !all))
    throw model.sets.empty() ? HttpError(400, "the model has no prediction sets", {"coverage", "none", "one"})
                             : HttpError(400, "`coverage` requires `among` all", {"coverage", "none", "one"});
  std::optional<Ranking> part;
  if (!all) part.emplace(model, request.among);
  const Ranking& ranking = part ? *part : bank->ranking;
  const std::size_t n = x.rows(), top = std::min(request.top, ranking.candidates().size());
  require_size(n, top, kMostRanked, "top");
  if (request.attributes) require_size(n, model.attributes(), kMostNumbers, "attributes");
  if (request.coverage) require_size(n, model.classes.names.size(), kMostNumbers, "coverage");
  std::vector<RankedClass> best(n * top);
  std::vector<Evidence> evidence(reject ? n : 0);
  if (reject)
    bank->predictor.rank(x, ranking, pool_, best, evidence);
  else
    bank->predictor.rank(x, ranking, pool_, best);
  const std::vector<std::string> sets =
      request.coverage ? sets_of(*bank, *request.coverage, x, pool_) : std::vector<std::string>();
  Matrix<float> attributes;
  if (request.attributes) {
    attributes = model.predict_semantics(x, pool_);
    for (std::size_t r = 0; r < n; ++r) scale_.to_user(attributes.row(r));
  }
  std::string out = "{\"predictions\":[";
  out.reserve(n * (top * 96 + 128));
  for (std::size_t r = 0; r < n; ++r) {
    out += r > 0 ? ",{\"classes\":[" : "{\"classes\":[";
    for (std::size_t k = 0; k < top; ++k) {
      const RankedClass& c = best[r * top + k];
      if (k > 0) out += ',';
      out += bank->opened[static_cast<std::size_t>(c.class_index)];
      fmt::format_to(std::back_inserter(out), "{},\"confidence\":{}}}", c.score, c.confidence);
    }
    out += "],";
    if (reject) {
      const bool seen = model.classes.seen[static_cast<std::size_t>(best[r * top].class_index)] != 0;
      const bool unknown = model.rejection.is_unknown(evidence[r], seen);
      const auto known = model.rejection.known_score(evidence[r], seen);
      fmt::format_to(std::back_inserter(out), "\"unknown\":{},\"known_score\":{},\"why\":{},", unknown,
                     std::abs(known) < std::numeric_limits<float>::max() ? fmt::format("{}", known) : "null",
                     unknown ? json_string(unknown_because(model.rejection, evidence[r], seen)) : "null");
    } else {
      out += "\"unknown\":null,\"known_score\":null,\"why\":null,";
    }
    out += "\"set\":" + (request.coverage ? sets[r] : std::string("null")) + ",\"attributes\":";
    if (request.attributes)
      append_numbers(attributes.row(r), out);
    else
      out += "null";
    out += '}';
  }
  out += ']';
  if (request.return_features) {
    require_size(n, x.cols(), kMostNumbers, "return_features");
    out += ",\"features\":[";
    for (std::size_t r = 0; r < n; ++r) {
      if (r > 0) out += ',';
      append_numbers(x.row(r), out);
    }
    out += ']';
  }
  return out + "}";
}

std::string Service::explain(const PredictRequest& request, MatrixView<const float> x) const {
  if (!request.first_option.empty())
    throw HttpError(400,
                    fmt::format("/v1/explain takes one sample and `bank`; `{}` is not allowed", request.first_option),
                    {request.first_option, "one sample and bank", "'" + request.first_option + "'"});
  if (x.rows() != 1) {
    const char* field = !request.samples.empty()       ? "samples"
                        : !request.photographs.empty() ? "photographs"
                        : request.has_input            ? "features"
                                                       : "array";
    throw HttpError({field, "one sample", fmt::format("{}", x.rows())});
  }
  const auto bank = banks_.after(names_.resolved(request.bank), pool_);
  const Model& model = bank->model;
  if (model.classes.names.size() < 2)
    throw HttpError(400, "the bank has one class, so there is nothing to compare it with",
                    {"bank", "at least two classes", "one"});
  Explanation why = parsnets::explain(model, x.row(0), *bank->prepared, pool_);
  scale_.to_user(why.predicted);
  const auto winner = static_cast<std::size_t>(why.winner), second = static_cast<std::size_t>(why.runner_up);
  Json json{{"winner", {{"class", model.classes.names[winner]}, {"score", why.winner_score}}},
            {"runner_up", {{"class", model.classes.names[second]}, {"score", why.runner_up_score}}},
            {"calibration", why.calibration},
            {"examples", why.examples},
            {"attributes", Json::array()},
            {"open_networks", why.open_networks}};
  const auto value = [&](std::size_t c, std::size_t a) {
    return is_described(model.classes, c) ? Json(model.classes.semantics(c, a)) : Json();
  };
  for (const Contribution& c : why.attributes)
    json["attributes"].push_back({{"name", names_.attributes()[c.index]},
                                  {"contribution", c.amount},
                                  {"predicted", why.predicted[c.index]},
                                  {"winner", value(winner, c.index)},
                                  {"runner_up", value(second, c.index)}});
  return text_of(json);
}

std::string Service::suggest(const SuggestRequest& request) const {
  const auto bank = banks_.after(names_.resolved(request.bank), pool_);
  std::vector<std::uint8_t> labelled(samples_.samples.size());
  for (const auto& taught : request.bank.teach)
    for (const std::int32_t id : taught.samples) labelled[static_cast<std::size_t>(id)] = 1;
  std::vector<std::int32_t> ids, chosen;
  for (std::size_t i = 0; i < labelled.size(); ++i)
    if (labelled[i] == 0) ids.push_back(static_cast<std::int32_t>(i));
  Matrix<float> x = gather_rows(samples_.features.view(), ids);
  for (const auto row : parsnets::suggest(bank->model, x.view(), request.count, pool_)) chosen.push_back(ids[row]);
  std::vector<RankedClass> best(chosen.size());
  x = gather_rows(samples_.features.view(), chosen);
  if (!chosen.empty()) bank->predictor.rank(x.view(), bank->ranking, pool_, best);
  Json json{{"suggestions", Json::array()}};
  for (std::size_t i = 0; i < chosen.size(); ++i)
    json["suggestions"].push_back(
        {{"sample", chosen[i]}, {"guess", bank->model.classes.names[static_cast<std::size_t>(best[i].class_index)]}});
  return text_of(json);
}

std::string Service::bank_csv(const BankEdit& edit) const {
  const auto bank = banks_.after(names_.resolved(edit), pool_);
  const Model& model = bank->model;
  std::string out = "class";
  for (std::size_t a = 0; a < model.attributes(); ++a) out += "," + csv_cell(names_.attributes()[a]);
  out += '\n';
  for (std::size_t c = 0; c < model.classes.names.size(); ++c) {
    if (!is_described(model.classes, c)) continue;
    out += csv_cell(model.classes.names[c]);
    for (const float v : model.classes.semantics.row(c)) out += "," + format_number(v);
    out += '\n';
  }
  return out;
}

std::string Service::device_bank(const BankEdit& edit, Precision precision) const {
  const BankEdit whole = names_.resolved(edit);
  banks_.after(whole, pool_);
  return device_banks_.saved(whole, precision, pool_);
}

}  // namespace parsnets
