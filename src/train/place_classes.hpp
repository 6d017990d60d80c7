#pragma once
// Places of classes in class space. With M the means of f over the P seen classes, g their mean and b the prepared
// semantics at unit length, places are kernel ridge regression from b to the means,
//   (K + λI)α = M − 1gᵀ,   K_st = k(b_s, b_t);   p(b) = Σ_s k(b, b_s)·α_s,
// and a class with n samples lies at (n·(mean − g) + κ·p)/(n + κ). Attributes are predicted from f − g by ridge,
//   (Σ_s n_s m_s m_sᵀ + N·I)·H = Σ_s n_s m_s a_sᵀ,   m_s = mean of class s − g:  f has about unit variance within
//   classes.

#include "parsnets/dataset.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/options.hpp"
#include "solvers/class_means.hpp"

namespace parsnets {

/// Preparation of semantics (C x m) for prototypes: with weights of attributes learned from the means where
/// options.attribute_steps > 0 (solvers/attribute_weights.hpp).
SemanticPreprocess fit_place_semantics(const ParsNetsOptions& options, const Semantics& semantics,
                                       const ClassMeans& classes);
/// Sets centre, prototypes and class means of a model with targets classes; `classes` are places in its bank.
void place_classes(Model& model, const ClassMeans& classes, const ParsNetsOptions& options);
/// Sets the attribute head.
void fit_attribute_head(Model& model, const ClassMeans& classes);

}  // namespace parsnets
