#pragma once
// Outcomes of two methods, by class.

#include <array>
#include <cstdint>
#include <vector>

#include "eval/harmonic_mean.hpp"
#include "parsnets/uncertainty.hpp"

namespace parsnets {

/// The four results in percent, in the order ZSL, U, S, H.
using Figures = std::array<double, 4>;
enum Figure : std::size_t { kZsl, kU, kS, kH };

/// Mean over the classes of a side, in percent, of each column of OutcomeRow.
using SideMeans = std::array<double, 4>;
/// In how many runs a sample was right: ZSL and GZSL of the first method, ZSL and GZSL of the second.
using OutcomeRow = std::array<std::uint16_t, 4>;

/// The samples of the unseen or of the seen classes.
struct OutcomeSide {
  std::vector<std::size_t> first;  ///< row at which each class begins, and the number of rows
  std::vector<OutcomeRow> rows;    ///< by class
  std::array<double, 4> scale{};   ///< per column: a class of n samples has scale · sum / n percent

  std::size_t classes() const { return first.size() - 1; }
  std::size_t samples(std::size_t k) const { return first[k + 1] - first[k]; }
};

/// Two methods on the same samples.
struct PairedOutcomes {
  bool has_gzsl = false;
  OutcomeSide unseen, seen;
};

/// Throws bad_input unless the outcomes are whole and, with a second method, of the same samples. Without a second one
/// (nullptr) its place is taken by a method that is always wrong: its figures are 0, so that differences are the
/// figures of the first.
PairedOutcomes paired(const Outcomes& first, const Outcomes* second);

/// Throws usage for options out of range.
void check_options(const UncertaintyOptions& options);

/// First minus second.
inline Figures difference_of(const SideMeans& unseen, const SideMeans& seen) {
  return {unseen[0] - unseen[2], unseen[1] - unseen[3], seen[1] - seen[3],
          harmonic_mean(unseen[1], seen[1]) - harmonic_mean(unseen[3], seen[3])};
}

/// p of each figure by the randomisation test of sign_flip.cpp, and whether it is enumerated.
struct SignFlip {
  double p = 1;
  bool exact = true;
};
std::array<SignFlip, 4> sign_flip_test(const PairedOutcomes& outcomes, ThreadPool& pool,
                                       const UncertaintyOptions& options);

}  // namespace parsnets
