#pragma once
// Prototypes of classes: kernel ridge regression from the semantics of the seen classes to what training made of them,
//   min_α Σ_s ‖r_s − Σ_t k(b_s, b_t) α_t‖² + λ·tr(αᵀKα)  ⇒  (K + λI)α = R,   r_s = unit mean of the unit f − μ of class
//   s, less b_s,
// k(b, b') = exp((bᵀb' − 1)/w²).

#include <cstdint>
#include <span>

#include "parsnets/matrix.hpp"
#include "parsnets/model.hpp"

namespace parsnets {

/// f is n x m predicted semantics of training samples, `labels` (n) rows of `class_vectors` (C x m, centred, no
/// prototypes applied), `centre` m values or empty. `lambda` > 0, `width` > 0 (Error(usage)).
Prototypes fit_prototypes(MatrixView<const float> f, std::span<const std::int32_t> labels,
                          MatrixView<const float> class_vectors, std::span<const float> centre, double width,
                          double lambda);

}  // namespace parsnets
