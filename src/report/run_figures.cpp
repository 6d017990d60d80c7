#include "report/run_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "base/json_file.hpp"
#include "base/linalg.hpp"
#include "data/sample_set.hpp"
#include "data/split.hpp"
#include "eval/metrics.hpp"
#include "eval/model_data.hpp"
#include "features/fit_encoder.hpp"
#include "features/preprocess.hpp"
#include "model/fit_gates.hpp"
#include "model/prediction.hpp"
#include "report/geometry.hpp"

namespace parsnets {

namespace {

std::string attribute_name(const Model& model, std::size_t a) {
  return a < model.attribute_names.size() ? model.attribute_names[a] : fmt::format("attribute {}", a + 1);
}

}  // namespace

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

RunSamples run_samples(const Model& model, const Dataset& data, std::size_t most, ThreadPool& pool,
                       ProgressObserver* progress) {
  const std::size_t all = data.split.test_unseen.size() + data.split.test_seen.size();
  RunSamples out;
  out.bank = bank_places(model.classes.names, data);
  const auto take = [&](const std::vector<std::int32_t>& list) {
    const std::size_t some = most == 0 || most >= all ? list.size() : (list.size() * most + all - 1) / all;
    for (std::size_t i = 0; i < some; ++i) out.rows.push_back(list[i * list.size() / some]);
  };
  take(data.split.test_unseen);
  out.unseen = out.rows.size();
  take(data.split.test_seen);
  if (out.rows.size() < all)
    report_message(progress, fmt::format("the figures show {} of {} test samples, as many as the memory limit allows",
                                         out.rows.size(), all));
  out.labels = labels_of(data, out.rows);
  check_finite_rows(data.features, out.rows, features_source(data));
  const Matrix<float> raw = gather_rows(data.features, out.rows);
  std::vector<std::int32_t> places_of_raw(out.rows.size());
  std::iota(places_of_raw.begin(), places_of_raw.end(), 0);
  out.prepared = preprocessed_rows(model.feature_preprocess, raw.view(), places_of_raw, pool);
  report(progress, {"score samples", 0, out.rows.size(), "samples"});
  out.scores = model.scores(raw.view(), pool);
  if (model.direction == Direction::forward) {
    out.mapped = model.predict(raw.view(), pool);
    centre_rows(model, out.mapped.view());
  }
  // As in evaluate(): the data set's unseen classes compete, with test samples of seen classes also what the model has
  // seen.
  std::set<std::int32_t> compete;
  for (const auto c : data.unseen_classes())
    if (out.bank[at(c)] >= 0) compete.insert(out.bank[at(c)]);
  for (const auto place : out.bank)
    if (place >= 0 && model.classes.seen[at(place)] && !data.split.test_seen.empty()) compete.insert(place);
  out.ranking.emplace(model, std::vector<std::int32_t>(compete.begin(), compete.end()));
  for (std::size_t r = 0; r < out.scores.rows(); ++r) out.predicted.push_back(out.ranking->winner(out.scores.row(r)));
  return out;
}

Json summary_json(const Model& model, const Dataset& data, const Evaluation& test, const Json& options,
                  const Json& recorded) {
  const std::string weights =
      model.semantic_preprocess.tables.empty() ? "" : " weighted " + options.value("semantic-weights", "");
  Json json{{"data", data.name},
            {"features", data.features_name},
            {"semantics", data.semantics.name + weights},
            {"split", split_name(data.split)},
            {"method", options.value("method", "")},
            {"targets", model.targets == Targets::classes ? "classes" : "semantics"},
            {"zsl", test.zsl.top1_per_class},
            {"zsl_top5", test.zsl.top5},
            {"units", "percent"}};
  for (const auto& [name, value] : {std::pair("u", test.gzsl.u), std::pair("s", test.gzsl.s),
                                    std::pair("h", test.gzsl.h), std::pair("ausuc", test.gzsl.ausuc)})
    json[name] = test.has_gzsl ? Json(value) : Json();
  json["gamma"] = model.gamma;
  json["gamma_from"] = model.record.validation.gamma_from;
  json["seconds"] = recorded.contains("seconds") ? recorded["seconds"] : Json();
  json["model_bytes"] = model_file_bytes(model);
  json["classes"] = model.classes.names.size();
  json["seen_classes"] = std::ranges::count(model.classes.seen, std::uint8_t{1});
  json["attributes"] = model.attributes();
  json["dimensions"] = model.dimensions;
  return json;
}

Json curve_json(const Gzsl& gzsl, std::size_t most) {
  Json json = Json::array();
  const std::size_t n = gzsl.curve.size();
  std::set<std::size_t> kept;
  for (std::size_t i = 0; i < std::min(n, most); ++i) kept.insert(n <= most ? i : i * (n - 1) / (most - 1));
  const auto harmonic = [&](std::size_t i) { return harmonic_mean(gzsl.curve[i].u, gzsl.curve[i].s); };
  std::size_t best = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (harmonic(i) > harmonic(best)) best = i;
  if (n > 0) kept.insert(best);
  for (std::size_t i = 0; i < n; ++i)
    if (gzsl.curve[i].gamma <= gzsl.gamma && (i + 1 == n || gzsl.curve[i + 1].gamma > gzsl.gamma)) kept.insert(i);
  for (const std::size_t i : kept)
    json.push_back({gzsl.curve[i].gamma, rounded(gzsl.curve[i].u), rounded(gzsl.curve[i].s)});
  return json;
}

Json per_class_json(const Evaluation& test, const Dataset& data) {
  Json json = Json::array();
  const auto find = [](const std::vector<ClassAccuracy>& list, std::int32_t c) {
    const auto found = std::ranges::find(list, c, &ClassAccuracy::class_index);
    return found == list.end() ? nullptr : &*found;
  };
  for (std::int32_t c = 0; c < static_cast<std::int32_t>(data.classes()); ++c) {
    const ClassAccuracy *zsl = find(test.zsl.classes, c), *unseen = find(test.gzsl.unseen_classes, c),
                        *seen = find(test.gzsl.seen_classes, c);
    const ClassAccuracy* general = unseen != nullptr ? unseen : seen;
    if (zsl == nullptr && general == nullptr) continue;
    json.push_back({{"class", data.class_names[at(c)]},
                    {"unseen", zsl != nullptr},
                    {"samples", zsl != nullptr ? zsl->samples : general->samples},
                    {"zsl", zsl == nullptr ? Json() : Json(zsl->top1)},
                    {"gzsl", general == nullptr ? Json() : Json(general->top1)}});
  }
  return json;
}

Json confusion_json(const Evaluation& test, const Model& model, const Dataset& data, const RunSamples& samples) {
  const auto& places = samples.bank;
  std::vector<std::int32_t> known, place;  // classes of the data set that the model knows, and where they are in it
  for (std::int32_t c = 0; c < static_cast<std::int32_t>(places.size()); ++c) {
    if (places[at(c)] < 0) continue;
    known.push_back(c);
    place.push_back(places[at(c)]);
  }
  const auto order = class_order(gather_rows(model.class_vectors(), place).view());
  Json json{{"classes", Json::array()}, {"unseen", Json::array()}, {"counts", Json::array()}};
  for (const std::size_t i : order) {
    json["classes"].push_back(data.class_names[at(known[i])]);
    json["unseen"].push_back(model.classes.seen[at(place[i])] == 0);
  }
  if (test.details->confusion.empty()) return json;
  std::vector<std::size_t> row_of(places.size(), 0);
  for (std::size_t r = 0; r < order.size(); ++r) row_of[at(known[order[r]])] = r;
  std::vector<std::array<std::size_t, 3>> counts;
  for (const auto& [label, predicted, count] : test.details->confusion)
    if (places[at(label)] >= 0) counts.push_back({row_of[at(label)], row_of[at(predicted)], count});
  std::ranges::sort(counts);
  for (const auto& cell : counts) json["counts"].push_back(cell);
  return json;
}

Json gates_json(const Model& model, const Dataset& data, const RunSamples& samples, ThreadPool& pool) {
  if (model.gates.kind == GateKind::always || samples.rows.empty()) return nullptr;
  constexpr std::size_t kMostClasses = 60;
  const Matrix<float> e = encoded(model.encoder, samples.prepared.view(), pool);
  const Matrix<std::uint16_t> open = open_networks(model.gates, e.view(), pool);
  const GateUsage usage = gate_usage(open.view(), model.gates.networks);
  Json json{{"networks", model.gates.networks}, {"open", model.gates.open}, {"entropy", usage.entropy}};
  for (const auto count : usage.samples)
    json["usage"].push_back(rounded(static_cast<double>(count) / static_cast<double>(samples.rows.size())));
  auto classes = distinct(samples.labels);
  const std::size_t count = std::min(classes.size(), kMostClasses);
  for (std::size_t i = 0; i < count; ++i) {  // evenly chosen when there are many
    const std::int32_t c = classes[i * classes.size() / count];
    std::vector<double> share(model.gates.networks, 0.0);
    double members = 0;
    for (std::size_t r = 0; r < open.rows(); ++r) {
      if (samples.labels[r] != c) continue;
      ++members;
      for (const auto network : open.row(r)) ++share[network];
    }
    for (double& s : share) s = std::round(1000 * s / members) / 1000;
    json["by_class"]["classes"].push_back(data.class_names[at(c)]);
    json["by_class"]["share"].push_back(share);
  }
  return json;
}

Json training_json(const Model& model, const Json& recorded) {
  Json json{{"stages", Json::array()}, {"svr", nullptr}};
  for (const auto& [name, trace] :
       {std::pair("joint", &model.record.joint), std::pair("refinement", &model.record.refinement)}) {
    if (trace->empty()) continue;
    json["stages"].push_back({{"name", name}, {"steps", Json::array()}});
    for (const auto& step : *trace) json["stages"].back()["steps"].push_back(step.objective);
  }
  if (model.record.svr && !model.record.svr->trace.empty()) {
    const auto& trace = model.record.svr->trace;
    const Json seconds = recorded.value("svr_seconds", Json::array());
    json["svr"] = Json::array();
    for (std::size_t i = 0; i < trace.size(); ++i)
      json["svr"].push_back({{"pass", trace[i].pass},
                             {"primal", trace[i].primal},
                             {"dual", trace[i].dual},
                             {"gap", trace[i].relative_gap},
                             {"seconds", seconds.size() == trace.size() ? seconds[i] : Json()}});
  }
  return json["stages"].empty() && json["svr"].is_null() ? Json() : json;
}

namespace {

/// Predicted attributes as scaling leaves them, n x m.
Matrix<float> scaled_attributes(const Model& model, MatrixView<const float> x, ThreadPool& pool) {
  const auto& whitening = model.semantic_preprocess.whitening;
  if (model.targets == Targets::classes || whitening.empty()) return model.predict_semantics(x, pool);
  // Whitening is b = U(a − centre), its rows orthogonal, so a − centre = Σ_i b_i U_i / |U_i|². (A constant offset does
  // not change a correlation.)
  const std::size_t m = model.attributes(), q = model.outputs();
  Matrix<float> inverse(q, m), predicted(x.rows(), m);
  for (std::size_t i = 0; i < q; ++i) {
    const std::span<const float> axis(whitening.data() + i * m, m);
    const double squares = dot(axis, axis);
    for (std::size_t j = 0; j < m; ++j) inverse(i, j) = static_cast<float>(axis[j] / squares);
  }
  multiply(pool, Trans::no, model.predict(x, pool).view(), Trans::no, inverse.view(), predicted.view());
  return predicted;
}

}  // namespace

Json attributes_json(const Model& model, const Dataset& data, const RunSamples& samples, ThreadPool& pool) {
  if (model.direction != Direction::forward || samples.rows.empty()) return nullptr;
  const std::size_t m = model.attributes(), n = samples.rows.size();
  const Matrix<float> predicted = scaled_attributes(model, gather_rows(data.features, samples.rows).view(), pool);
  Matrix<float> truth = Matrix<float>::copy_of(model.classes.semantics.view());
  for (std::size_t c = 0; c < truth.rows(); ++c) model.semantic_preprocess.apply(truth.row(c));

  Json list = Json::array();
  for (std::size_t a = 0; a < m; ++a) {
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0, least = 1e300, most = -1e300;
    const auto place = [&](std::size_t r) { return at(samples.bank[at(samples.labels[r])]); };
    const auto true_value = [&](std::size_t r) { return static_cast<double>(truth(place(r), a)); };
    for (std::size_t r = 0; r < n; ++r) {
      x += predicted(r, a) / static_cast<double>(n);
      y += true_value(r) / static_cast<double>(n);
      const double given = model.classes.semantics(place(r), a);
      least = std::min(least, given);
      most = std::max(most, given);
    }
    for (std::size_t r = 0; r < n; ++r) {
      const double p = predicted(r, a) - x, t = true_value(r) - y;
      xx += p * p;
      yy += t * t;
      xy += p * t;
    }
    const bool defined = most > least && xx > 0 && yy > 0;  // an attribute that all classes share has no correlation
    list.push_back({{"name", attribute_name(model, a)},
                    {"correlation", defined ? Json(rounded(std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0))) : Json()}});
  }
  const auto value = [](const Json& one) {
    return one["correlation"].is_null() ? -2.0 : one["correlation"].get<double>();
  };
  std::stable_sort(list.begin(), list.end(), [&](const Json& a, const Json& b) { return value(a) > value(b); });
  return list;
}

Json explanations_json(const Model& model, const Dataset& data, const RunSamples& samples, int count,
                       ThreadPool& pool) {
  if (model.direction != Direction::forward) return nullptr;
  constexpr std::size_t kTerms = 10;
  // Half of them right and half wrong where there are such, unseen classes first, each class in turn.
  std::vector<std::size_t> right, wrong;
  const std::size_t most = static_cast<std::size_t>(count);
  std::set<std::pair<std::int32_t, bool>> taken;
  for (int pass = 0; pass < 3; ++pass)
    for (std::size_t r = 0; r < samples.rows.size(); ++r) {
      const bool correct = samples.bank[at(samples.labels[r])] == samples.predicted[r];
      auto& list = correct ? right : wrong;
      if (list.size() < most && std::ranges::find(list, r) == list.end() &&
          (pass == 2 || taken.insert({samples.labels[r] + (pass == 0 ? 0 : 1 << 20), correct}).second))
        list.push_back(r);
    }
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; chosen.size() < most && (i < right.size() || i < wrong.size()); ++i)
    for (const auto* list : {&right, &wrong})
      if (i < list->size() && chosen.size() < most) chosen.push_back((*list)[i]);
  const PreparedClasses prepared = model.prepare_classes(pool);
  Json list = Json::array();
  for (const std::size_t r : chosen) {
    const auto x = data.features.row(at(samples.rows[r]));
    const Explanation why = explain(model, x, prepared, pool);
    if (why.winner != samples.predicted[r]) continue;  // a class that is not part of the evaluation
    std::vector<float> confidence(samples.scores.row(r).begin(), samples.scores.row(r).end());
    samples.ranking->to_confidences(confidence);
    Json item{{"sample", samples.rows[r]},
              {"truth", data.class_names[at(samples.labels[r])]},
              {"winner", model.classes.names[at(why.winner)]},
              {"runner_up", model.classes.names[at(why.runner_up)]},
              {"confidence", rounded(confidence[at(why.winner)])},
              {"correct", samples.bank[at(samples.labels[r])] == why.winner},
              {"terms", Json::array()},
              {"examples", why.examples},
              {"calibration", why.calibration}};
    for (std::size_t i = 0; i < std::min(kTerms, why.attributes.size()); ++i) {
      const auto& term = why.attributes[i];
      item["terms"].push_back({{"attribute", attribute_name(model, term.index)},
                               {"amount", term.amount},
                               {"winner_value", model.classes.semantics(at(why.winner), term.index)},
                               {"runner_up_value", model.classes.semantics(at(why.runner_up), term.index)}});
    }
    double others = 0;
    for (std::size_t i = kTerms; i < why.attributes.size(); ++i) others += why.attributes[i].amount;
    if (why.attributes.size() > kTerms)
      item["terms"].push_back({{"attribute", fmt::format("{} others", why.attributes.size() - kTerms)},
                               {"amount", others},
                               {"winner_value", nullptr},
                               {"runner_up_value", nullptr}});
    list.push_back(std::move(item));
  }
  return list;
}

namespace {

double cosine(std::span<const float> a, std::span<const float> b) {
  const double lengths = std::sqrt(dot(a, a) * dot(b, b));
  return lengths > 0 ? dot(a, b) / lengths : 0;
}

/// The class with the place nearest to a mean, and its cosine; null if there is none.
struct Nearest {
  Json name, value;

  void offer(const std::string& other, double likeness) {
    if (!value.is_null() && value.get<double>() >= likeness) return;
    name = other;
    value = likeness;
  }
};

}  // namespace

UnseenPlaces unseen_places(const Model& model, const RunSamples& samples) {
  if (samples.mapped.empty() || samples.unseen == 0 || model.similarity != Similarity::cosine) return {};
  const std::span labels(samples.labels.data(), samples.unseen);
  UnseenPlaces out;
  out.classes = distinct({labels.begin(), labels.end()});
  const Matrix<float> vectors = model.class_vectors();
  out.places = Matrix<float>(out.classes.size(), vectors.cols());
  out.means = Matrix<float>(out.classes.size(), vectors.cols());
  for (std::size_t u = 0; u < out.classes.size(); ++u) {
    std::ranges::copy(vectors.row(at(samples.bank[at(out.classes[u])])), out.places.row(u).begin());
    std::vector<double> sum(vectors.cols(), 0.0);
    for (std::size_t r = 0; r < samples.unseen; ++r)
      for (std::size_t j = 0; labels[r] == out.classes[u] && j < sum.size(); ++j) sum[j] += samples.mapped(r, j);
    const auto members = static_cast<double>(std::ranges::count(labels, out.classes[u]));
    std::ranges::transform(sum, out.means.row(u).begin(), [&](double v) { return static_cast<float>(v / members); });
  }
  return out;
}

Json places_json(const Model& model, const Dataset& data, const RunSamples& samples, const UnseenPlaces& unseen) {
  if (unseen.classes.empty()) return nullptr;
  const auto& bank = samples.bank;
  const std::vector<std::int32_t> tested = data.unseen_classes();
  const Matrix<float> vectors = model.class_vectors();
  Json rows = Json::array();
  for (std::size_t u = 0; u < unseen.classes.size(); ++u) {
    const std::int32_t own = unseen.classes[u];
    Nearest other, seen;
    for (std::int32_t c = 0; c < static_cast<std::int32_t>(bank.size()); ++c) {
      if (c == own || bank[at(c)] < 0) continue;
      const double likeness = rounded(cosine(unseen.means.row(u), vectors.row(at(bank[at(c)]))));
      if (model.classes.seen[at(bank[at(c)])])
        seen.offer(data.class_names[at(c)], likeness);
      else if (std::ranges::binary_search(tested, c))
        other.offer(data.class_names[at(c)], likeness);
    }
    const double own_cosine = rounded(cosine(unseen.means.row(u), unseen.places.row(u)));
    const auto ahead = [&](const Nearest& n) { return n.value.is_null() || own_cosine >= n.value.get<double>(); };
    rows.push_back({{"class", data.class_names[at(own)]},
                    {"samples", std::count(samples.labels.begin(), samples.labels.end(), own)},
                    {"cosine", own_cosine},
                    {"nearest", other.name},
                    {"nearest_cosine", other.value},
                    {"own", ahead(other)},
                    {"nearest_seen", seen.name},
                    {"nearest_seen_cosine", seen.value},
                    {"own_of_all", ahead(other) && ahead(seen)}});
  }
  return {{"targets", model.targets == Targets::classes ? "classes" : "semantics"}, {"rows", std::move(rows)}};
}

}  // namespace parsnets
