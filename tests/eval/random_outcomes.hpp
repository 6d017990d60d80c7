#pragma once
// Outcomes of methods whose classes differ in how often they are right.

#include "base/rng.hpp"
#include "eval/uncertainty.hpp"

namespace parsnets::test {

/// `classes` unseen classes and as many seen ones, with `samples` samples each, shuffled. A sample of a class is right
/// with a probability of the class from mean − spread to mean + spread; all are drawn by `seed`.
inline Outcomes random_outcomes(std::uint64_t seed, std::size_t classes, std::size_t samples, double mean,
                                double spread, std::uint32_t runs = 1) {
  Outcomes out;
  out.runs = runs;
  Rng rng(seed);
  const auto fill = [&](std::vector<std::int32_t>& labels, std::initializer_list<std::vector<std::uint16_t>*> lists) {
    for (std::size_t i = 0; i < classes * samples; ++i) labels.push_back(static_cast<std::int32_t>(i % classes));
    for (auto* list : lists) {
      std::vector<double> chance(classes);
      for (auto& p : chance) p = mean + spread * (2 * rng.uniform() - 1);
      for (const auto label : labels) {
        std::uint16_t right = 0;
        for (std::uint32_t r = 0; r < runs; ++r)
          right = static_cast<std::uint16_t>(right + (rng.uniform() < chance[static_cast<std::size_t>(label)]));
        list->push_back(right);
      }
    }
  };
  fill(out.unseen_labels, {&out.zsl, &out.unseen});
  fill(out.seen_labels, {&out.seen});
  return out;
}

}  // namespace parsnets::test
