#pragma once
// The strong form of adapt() (parsnets/field.hpp): EM from several starts, in which the map from semantics to places is
// fitted again to where the samples are. A start is another kernel of that map.
//
// With T the means of the S seen classes at unit length, K a kernel of unit semantics and λ the ridge of a map, the
// places that the map predicts for the k classes that may move, and their covariance, are
//   f⁰ = K_us(K_ss + λI)⁻¹T,   C = K_uu − K_us(K_ss + λI)⁻¹K_su.
// A round of EM with the strength β and the power p:
//   r_ic = softmax over all classes of τ·(cos − γ₀·[c stays and is seen]),   n_c = Σ_i r_ic
//   m_c = unit(Σ_i r_ic·x̂_i),   x_c = n_c·(Σ_i r²_ic/n_c)^p/β
//   f = f⁰ + C(C + λ·diag(1 + 1/x))⁻¹(m − f⁰)   (the map, with the classes as training samples of the weight of their
//                                                evidence),
//   q_c = unit((x_c·m_c + unit(f_c))/(1 + x_c)).
// The search runs p = 0 from each start, first with its own kernel and then with the model's, and keeps the largest
//   J = Σ_i log Σ_c exp(τ·(cos − γ₀·[…])) + τβ·Σ_c q_c·unit(f_c).
// The end is p = 2 with the model's kernel, where x_c also gets the factor 2ρ²/(1 + ρ²), ρ = n_c/(median of n):
// classes that are not among the samples collect few of them.

#include <span>
#include <utility>
#include <vector>

#include "model/field_em.hpp"

namespace parsnets {

/// What the places of classes are predicted from.
struct PlaceMap {
  Matrix<float> seen;    ///< S x q: semantics of the seen classes, unit rows
  Matrix<float> moving;  ///< k x q: those of the classes that may move
  Matrix<float> means;   ///< S x o: unit means of the seen classes
  double width = 1;      ///< of the kernel, as in Prototypes
  double ridge = 0;      ///< λ
  /// Whether there is enough to search with, and little enough: kernels take memory that grows with classes squared.
  bool can_be_searched() const { return ridge > 0 && moving.rows() > 1 && seen.rows() + moving.rows() <= 1000; }
};

/// Of classes of the bank that may move.
PlaceMap place_map(const Model& model, std::span<const std::int32_t> moving);

/// What the samples say of a result.
struct FieldEvidence {
  double spread = 0;  ///< exp(entropy of e_c/Σe)/k, e_c = n_c·(Σr²/n_c)²: 1 where all classes have as many samples
  double upper = 0;   ///< upper quartile of e_c
  double staying = 0;  ///< mean of n_c over the classes that stay

  static constexpr double kLeastSpread = 0.67, kLeastUpper = 5, kLeastRatio = 0.7;
  /// Whether the samples are of enough classes that may move, and more of these than classes that stay would give.
  bool is_enough() const { return spread >= kLeastSpread && upper >= kLeastUpper && upper >= kLeastRatio * staying; }
};

/// Where a search ended.
struct Found {
  Matrix<float> vectors;        ///< k x o at unit length
  std::vector<double> support;  ///< k: n_c
  double share = 0;             ///< mean over the classes of x/(1 + x): how far they follow samples
  double likelihood_gain = 0;   ///< mean over the samples
  int rounds = 0;               ///< in all
  FieldEvidence evidence;
};

/// Classes that stay; they take part in the softmax.
struct Staying {
  Matrix<float> vectors;           ///< s x o, unit rows
  std::vector<std::uint8_t> seen;  ///< s
};

/// Searches once; end() may be called for several strengths. Refers to samples (n x o, unit rows), map and taught.
/// Results do not depend on the number of threads.
class FieldSearch {
 public:
  /// `taught`: labelled examples of the k classes that may move, which count as samples that are surely of them; none
  /// where it is empty.
  FieldSearch(const Matrix<float>& samples, const PlaceMap& map, const Experience& taught, const Staying& staying,
              double sharpness, ThreadPool& pool);
  /// `strength`: in units of the squared distance of a mean from the place that the other classes predict for it.
  Found end(double strength, ThreadPool& pool) const;

 private:
  struct Kernel {
    Matrix<double> places, covariance;  ///< f⁰ and C
    double ridge = 0;
  };
  struct Round {
    std::vector<double> support, squares;  ///< k: n and Σr²
    Matrix<double> means;                  ///< k x o: m
    double likelihood = 0, staying = 0;    ///< sums over the samples
  };

  Kernel kernel(double flatter, double width, double ridge) const;
  Round expect(const Matrix<float>& vectors, ThreadPool& pool) const;
  /// Places after a round, and Σ q·unit(f).
  std::pair<Matrix<float>, double> refit(const Kernel& kernel, const Round& round, std::span<const double> x) const;

  const Matrix<float>& samples_;
  const PlaceMap& map_;
  const Experience& taught_;
  double sharpness_;
  std::size_t staying_;
  std::vector<double> rest_;               ///< Pile::rest with γ₀
  Matrix<double> seen_, across_, moving_;  ///< cosines of semantics: S x S, k x S, k x k
  Matrix<double> axes_;                    ///< principal axes of the seen semantics in terms of them, S x a
  std::vector<double> lengths_;            ///< a: squared, of the seen semantics along the axes
  Kernel own_;                             ///< the model's
  double distance_ = 0, first_ = 0;        ///< as for end(); likelihood at the start
  Matrix<float> best_;                     ///< k x o
  int rounds_ = 0;
};

}  // namespace parsnets
