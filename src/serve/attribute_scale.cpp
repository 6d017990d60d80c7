#include "serve/attribute_scale.hpp"

#include <algorithm>

namespace parsnets {

AttributeScale::AttributeScale(const Model& model) {
  const std::size_t m = model.attributes();
  const SemanticPreprocess& prepare = model.semantic_preprocess;
  const bool whitened = model.targets == Targets::semantics && !prepare.whitening.empty();
  std::vector<double> x(m), y(m), xx(m), xy(m);
  std::vector<float> scaled(m), b(whitened ? model.semantic_outputs() : 0);
  double count = 0;
  for (std::size_t c = 0; c < model.classes.names.size(); ++c) {
    if (model.classes.seen[c] == 0 || (!model.classes.described.empty() && model.classes.described[c] == 0)) continue;
    const auto given = model.classes.semantics.row(c);
    std::ranges::copy(given, scaled.begin());
    prepare.apply(scaled);
    if (whitened) {
      prepare.whiten(scaled, b);
      prepare.expand(b, scaled);
    }
    ++count;
    for (std::size_t j = 0; j < m; ++j) {
      const double s = scaled[j], g = given[j];
      x[j] += s;
      y[j] += g;
      xx[j] += s * s;
      xy[j] += s * g;
    }
  }
  for (std::size_t j = 0; j < m; ++j) {
    const double n = std::max(count, 1.0), variance = xx[j] - x[j] * x[j] / n;
    const double slope = variance > 1e-12 * xx[j] ? (xy[j] - x[j] * y[j] / n) / variance : 0;
    slope_.push_back(static_cast<float>(slope));
    offset_.push_back(static_cast<float>((y[j] - slope * x[j]) / n));
  }
}

void AttributeScale::to_user(std::span<float> predicted) const {
  for (std::size_t j = 0; j < predicted.size(); ++j) predicted[j] = predicted[j] * slope_[j] + offset_[j];
}

}  // namespace parsnets
