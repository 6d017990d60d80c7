#pragma once
// Settings of learning in the field (parsnets/field.hpp), chosen on validation classes that play the unseen ones.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/field_search.hpp"
#include "parsnets/model.hpp"
#include "train/validation.hpp"

namespace parsnets {

/// A model that was fitted on a fold, and its outputs for the fold's samples.
struct FoldOutputs {
  const Model& model;
  const PreparedClasses& prepared;
  const Matrix<float>&unseen, &seen;
};

/// Samples and classes of a fold as scores compare them, everything at unit length.
struct FieldFold {
  Matrix<float> samples;            ///< n x o: those of held-out classes first
  std::vector<std::size_t> labels;  ///< n: rows of `held`, after them rows of `fit`
  std::size_t unseen = 0;           ///< how many samples are of held-out classes
  Matrix<float> held, fit;          ///< k x o and s x o: vectors of the held-out classes and of those fitted on
  double gamma = 0;
  PlaceMap map = {};        ///< from semantics to places, of the held-out classes
  double least_length = 0;  ///< ‖v‖/√p that all but a few samples have
};

/// Of large folds a part of the samples, drawn with the seed.
FieldFold field_fold(const FoldOutputs& outputs, const Dataset& data, const Fold& fold, double gamma,
                     std::uint64_t seed);

struct FieldChoice {
  FieldSettings settings;
  FieldRecord record;
};

/// Careful form: the strength with the highest mean of ZSL accuracy and harmonic mean after adapting to all samples of
/// a fold, or the next larger one with which neither falls by more than 0.25 points on three piles that do not suit
/// (seen classes alone, half of the held-out classes missing, class sizes of up to 50 to 1, drawn with the seed).
/// Strong form: likewise of the strengths with which neither falls by more than 0.5 points on three piles (seen classes
/// alone, half of the held-out classes missing, 30 % of them not among the classes), or none unless its mean is higher
/// by a point. The prior of examples with the highest ZSL accuracy for one and five examples. None where every fold
/// holds out a single class.
std::optional<FieldChoice> choose_field(std::span<const FieldFold> folds, std::uint64_t seed, ThreadPool& pool);
/// Shifts of gamma that were measured beside the gamma of the folds, for a model whose gamma is another one.
void scale_shifts(FieldSettings& settings, double gamma_of_folds, double gamma);

}  // namespace parsnets
