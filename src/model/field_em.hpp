#pragma once
// The EM behind adapt() (parsnets/field.hpp), on samples and places alone: choosing its settings runs it many times.

#include <span>
#include <vector>

#include "parsnets/model.hpp"

namespace parsnets {

/// n unlabelled samples, and what the classes that stay have to say to each.
struct Pile {
  Matrix<float> samples;      ///< n x o, as scores compare them, at unit length
  std::vector<double> scale;  ///< n: the first p values of a sample times this are x̂
  std::vector<double> rest;  ///< n: log Σ exp(τ·(score − γ·[seen])) over the classes that stay; -infinity: none do
};

/// The k classes that may move.
struct Movable {
  Matrix<float> vectors;        ///< k x o at unit length, before any unlabelled sample
  std::vector<double> penalty;  ///< k: γ·[seen]
  std::vector<double> samples;  ///< k: remembered from earlier piles
  Matrix<double> sums;          ///< k x p: of those
  std::size_t placed = 0;       ///< p
};

/// Where EM ended.
struct Moved {
  Matrix<float> vectors;        ///< k x o at unit length
  std::vector<double> samples;  ///< k: remembered now
  Matrix<double> sums;          ///< k x p: of those
  std::vector<double> support;  ///< k: of this pile, in the last round
  std::size_t convincing = 0;   ///< samples of this pile that were assigned to one of these classes
  int rounds = 0;
  double likelihood_gain = 0;  ///< mean over the samples
};

/// Rows at unit length; those of length 0 stay.
void unit_rows(MatrixView<float> rows);
/// Pile::scale for `placed` values.
std::vector<double> scales(const Matrix<float>& samples, std::size_t placed);
/// Pile::rest for s x o unit vectors of classes that stay and their penalties.
std::vector<double> rest_of(const Matrix<float>& samples, const Matrix<float>& vectors, std::span<const double> penalty,
                            double sharpness, ThreadPool& pool);
/// Results do not depend on the number of threads.
Moved move_places(const Pile& pile, const Movable& classes, const FieldSettings& settings, int rounds,
                  ThreadPool& pool);

inline constexpr double kLeastSupport = 3;  ///< convincing samples without which a class does not move

}  // namespace parsnets
