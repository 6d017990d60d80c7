#pragma once
// Models with a rejection that was not calibrated but made up, so that both verdicts are frequent.

#include <algorithm>
#include <cmath>
#include <limits>

#include "parsnets/predictor.hpp"
#include "small_device.hpp"

namespace parsnets::test {

/// What the engine makes of a sample.
struct Judged {
  Evidence evidence;
  std::size_t best = 0;  ///< class
  bool seen = false;     ///< of that
  float score = 0;       ///< known_score()
  bool unknown = false;
  float confidence = 0;  ///< in that class

  /// How far the score, or evidence times its weight, is from where the verdict would change.
  float slack(const Rejection& rejection) const {
    const auto values = evidence.values();
    const auto& weight = rejection.weights[seen ? 1 : 0];
    float least = std::numeric_limits<float>::max();
    if (score > std::numeric_limits<float>::lowest()) least = std::abs(score - rejection.thresholds[seen ? 1 : 0]);
    for (std::size_t i = 0; i < values.size(); ++i)
      for (const auto& bounds : rejection.range)
        if (bounds[i] != values[i]) least = std::min(least, std::abs(weight[i] * (values[i] - bounds[i])));
    return least;
  }
};

inline std::vector<Judged> judge(const Model& model, const Predictor& predictor, MatrixView<const float> x,
                                 const Ranking& ranking, ThreadPool& pool) {
  std::vector<RankedClass> best(x.rows());
  std::vector<Evidence> evidence(x.rows());
  predictor.rank(x, ranking, pool, best, evidence);
  std::vector<Judged> out;
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const auto c = static_cast<std::size_t>(best[i].class_index);
    const bool seen = model.classes.seen[c] != 0;
    out.push_back({evidence[i], c, seen, model.rejection.known_score(evidence[i], seen),
                   model.rejection.is_unknown(evidence[i], seen), best[i].confidence});
  }
  return out;
}

inline std::vector<Judged> judge(const Model& model, MatrixView<const float> x, const Ranking& ranking,
                                 ThreadPool& pool) {
  return judge(model, Predictor(model, pool), x, ranking, pool);
}

/// Between the values around a quantile, so that no value is equal to it.
inline float between(std::vector<float> values, double quantile) {
  std::ranges::sort(values);
  const auto i = static_cast<std::size_t>(quantile * static_cast<double>(values.size() - 2));
  return values[i] + (values[i + 1] - values[i]) / 2;
}

/// Evidence counts in units of its spread; the outermost 0.5 % of each is out of range, of the rest 40 % unknown.
inline void reject_by_hand(Model& model, MatrixView<const float> x, ThreadPool& pool) {
  constexpr float signs[Evidence::kCount] = {1, 1, -0.5f, -0.7f, -1, 0.4f};
  model.rejection = {};
  model.rejection.false_accept = 0.05;
  std::vector<Judged> judged = judge(model, x, Ranking(model), pool);
  for (std::size_t i = 0; i < Evidence::kCount; ++i) {
    std::vector<float> values;
    for (const Judged& one : judged) values.push_back(one.evidence.values()[i]);
    const auto [low, high] = std::ranges::minmax(values);
    model.rejection.range[0][i] = between(values, 0.005);
    model.rejection.range[1][i] = between(values, 0.995);
    const float spread = between(values, 0.84) - between(values, 0.16);
    for (std::size_t side = 0; side < 2; ++side)
      model.rejection.weights[side][i] = high > low ? signs[i] * (side == 0 ? 1.0f : 0.8f) / spread : signs[i];
  }
  model.rejection.weights[0][Evidence::kCount] = 0.3f;
  model.rejection.weights[1][Evidence::kCount] = -0.2f;
  judged = judge(model, x, Ranking(model), pool);
  for (const bool seen : {false, true}) {
    std::vector<float> scores;
    for (const Judged& one : judged)
      if (one.seen == seen && one.score > std::numeric_limits<float>::lowest()) scores.push_back(one.score);
    if (scores.size() > 2) model.rejection.thresholds[seen ? 1 : 0] = between(scores, 0.4);
  }
}

/// A small_model() that rejects; also "classes closed", the closed form alone, which is one network.
inline Model rejecting_model(const std::string& kind, ThreadPool& pool) {
  Model model = kind == "classes closed" ? train(small_training_set(), TrainOptions(), pool) : small_model(kind, pool);
  const Matrix<float> x = small_samples(900);
  reject_by_hand(model, x.view(), pool);
  return model;
}

}  // namespace parsnets::test
