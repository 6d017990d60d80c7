#pragma once
// Evidence: the numbers of a sample that rejection judges it by.

#include <span>
#include <vector>

#include "model/prediction.hpp"
#include "parsnets/model.hpp"
#include "parsnets/open_set.hpp"
#include "parsnets/predictor.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// Throws usage for a model that has no evidence: reverse, or compared by another similarity than cosine.
void require_evidence(const Model& model);

/// The span of the linear map V (d x p) from prepared features to class space: the shared network, or the only network
/// of a model without one. With VᵀV = QΛQᵀ, the part of x inside of it has the squared length ‖Λ^(−1/2)Qᵀ·Vᵀx‖².
class LinearSpan {
 public:
  /// Throws as require_evidence().
  LinearSpan(const Model& model, ThreadPool& pool);

  /// Of each row, the share of ‖x‖² outside of the span. f: Vᵀx plus all offsets, rows of p values.
  void measure(std::span<const float* const> x, std::size_t dimensions, std::span<float* const> f,
               std::vector<float>& outside) const;

  /// Rows Λ^(−1/2)Qᵀ (rank x p); empty: there is no such map, or it spans all of x.
  const Matrix<float>& basis() const { return basis_; }
  /// p: subtracted from f to get Vᵀx.
  std::span<const float> offset() const { return offset_; }

 private:
  Matrix<float> basis_;
  std::vector<float> offset_;
  std::vector<double> along_offset_;  ///< of each row of the basis
};

/// ‖v‖ of each row of outputs f, which are not yet centred.
void lengths_in_class_space(const Model& model, std::span<const float* const> f, std::vector<float>& lengths);

/// `best`: the best candidate with its confidence. `length`: ‖v‖, of a vector of p values.
Evidence evidence_of(const Ranking& ranking, const PreparedClasses& classes, const RankedClass& best, float length,
                     std::size_t p, float outside);

}  // namespace parsnets
