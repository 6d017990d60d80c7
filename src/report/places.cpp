#include "report/places.hpp"

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "data/rows.hpp"

namespace parsnets {

namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

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

UnseenPlaces unseen_places(const Model& model, const Dataset& data, const RunSamples& samples) {
  if (samples.mapped.empty() || samples.unseen == 0 || model.similarity != Similarity::cosine) return {};
  const auto bank = bank_places(model, data);
  const std::span labels(samples.labels.data(), samples.unseen);
  UnseenPlaces out;
  out.classes = distinct({labels.begin(), labels.end()});
  const Matrix<float> vectors = model.class_vectors();
  out.places = Matrix<float>(out.classes.size(), vectors.cols());
  out.means = Matrix<float>(out.classes.size(), vectors.cols());
  for (std::size_t u = 0; u < out.classes.size(); ++u) {
    std::ranges::copy(vectors.row(at(bank[at(out.classes[u])])), out.places.row(u).begin());
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
  const auto bank = bank_places(model, data);
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
