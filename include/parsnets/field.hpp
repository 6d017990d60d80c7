#pragma once
// Learning in the field: class prototypes move by labelled examples (teach) and by unlabelled samples (adapt), without
// training. Models with targets classes only. With x̂ = (f − μ)/‖f − μ‖ a sample in class space and p⁰ the unit place of
// a class from its description (and, for seen classes, from its training samples), places are the posterior means of a
// von Mises-Fisher distribution with a conjugate prior:
//   taught:   p¹ = unit(κ·p⁰ + Σ x̂)       over the examples of the class
//   adapted:  p  = unit(β·p¹ + Σ r·x̂)     over unlabelled samples; r is the softmax of τ·(score − γ·[seen]) over all
//                                          classes, counted as 0 below θ
// The model keeps these sums beside p⁰, so that p⁰ bounds how far a class may go and everything can be undone.

#include <span>
#include <string>
#include <vector>

#include "parsnets/model.hpp"
#include "parsnets/progress.hpp"

namespace parsnets {

/// Which classes adapt() moves, and how long.
struct AdaptOptions {
  std::vector<std::string> classes;  ///< those that may move; empty: all unseen classes
  int rounds = 20;                   ///< of expectation and maximisation, at most; in each batch
  std::size_t batch = 20000;         ///< samples of a batch, at least 1
};

/// Moves class prototypes by n x d unlabelled raw samples, and tells the model's record if any moved. Classes with
/// fewer than 3 convincing samples stay. At most 10·β samples per class are remembered, so that adapting again and
/// again on the same samples converges. The result does not depend on the number of threads. Throws usage unless the
/// model has targets classes and for less than one round, bad_input for unknown classes, no samples, a wrong d or
/// non-finite values, cancelled by `progress`; the model is unchanged then.
///
/// From two batches of samples on, the model adapts to one batch after the other, and the record has one entry for
/// each; a rest goes with the last batch. The result is told as one: support is summed over the batches, degrees are
/// those between the prototypes before the first and after the last.
Adaptation adapt(Model& model, MatrixView<const float> x, const AdaptOptions& options, ThreadPool& pool,
                 ProgressObserver* progress = nullptr);
/// Forgets all unlabelled samples. Examples stay.
void undo_adaptation(Model& model);
/// Whether adapt() has moved a class.
bool is_adapted(const Model& model);
/// Whether a class was given examples.
bool is_taught(const Model& model);

/// Adds n x d raw examples of a class of the model. Throws as adapt().
void teach(Model& model, const std::string& name, MatrixView<const float> examples, ThreadPool& pool);
/// The rows of n x d unlabelled raw samples that a person should label, at most `count`, the most useful first: their
/// examples are what teach() then takes. A copy of the model adapts to the samples; those that look like one unseen
/// class (any class where none is unseen) are its cluster. The next sample is of a class with the fewest examples, of
/// these the one whose prototype lies farthest from its cluster: the sample that brings the mean of the examples
/// nearest to that of the cluster. Samples that are examples already should be left out of x. Fewer where fewer look
/// like unseen classes. The result does not depend on the number of threads. Throws as adapt().
std::vector<std::size_t> suggest(const Model& model, MatrixView<const float> x, std::size_t count, ThreadPool& pool);
/// Adds a class that is known by its examples alone. Throws bad_input for a name that is there already or no examples.
void add_class_by_examples(Model& model, const std::string& name, MatrixView<const float> examples, ThreadPool& pool);

}  // namespace parsnets
