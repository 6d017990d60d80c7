#pragma once
// The EM behind adapt() (parsnets/field.hpp), on samples and places alone: choosing its settings runs it many times.

#include <functional>
#include <span>
#include <vector>

#include "parsnets/field.hpp"
#include "parsnets/model.hpp"

namespace parsnets {

/// n unlabelled samples, and what the classes that stay have to say to each.
struct Pile {
  Matrix<float> samples;      ///< n x o, as scores compare them, at unit length
  std::vector<double> scale;  ///< n: a sample times this is x̂, of unit length in double
  std::vector<double> rest;  ///< n: log Σ exp(τ·(score − γ·[seen])) over the classes that stay; -infinity: none do
};

/// The k classes that may move.
struct Movable {
  Matrix<float> vectors;        ///< k x o at unit length, before any unlabelled sample
  std::vector<double> penalty;  ///< k: γ·[seen]
  std::vector<double> samples;  ///< k: remembered from earlier piles
  Matrix<double> sums;          ///< k x o: of those
};

/// Where EM ended.
struct Moved {
  Matrix<float> vectors;        ///< k x o at unit length
  std::vector<double> samples;  ///< k: remembered now
  Matrix<double> sums;          ///< k x o: of those
  std::vector<double> support;  ///< k: of this pile, in the last round
  std::size_t convincing = 0;   ///< samples of this pile that were assigned to one of these classes
  int rounds = 0;
  double likelihood_gain = 0;  ///< mean over the samples
};

/// Rows at unit length; those of length 0 stay.
void unit_rows(MatrixView<float> rows);
/// Pile::scale.
std::vector<double> scales(const Matrix<float>& samples);
/// Pile::rest for s x o unit vectors of classes that stay and their penalties.
std::vector<double> rest_of(const Matrix<float>& samples, const Matrix<float>& vectors, std::span<const double> penalty,
                            double sharpness, ThreadPool& pool);
/// Results do not depend on the number of threads.
Moved move_places(const Pile& pile, const Movable& classes, const FieldSettings& settings, int rounds,
                  ThreadPool& pool);

inline constexpr double kMemory = 10;       ///< remembered samples per class, in units of β
inline constexpr double kLeastSupport = 3;  ///< convincing samples without which a class does not move

// Learning in the field from samples whose predictions are known; `f` is what predict() gave for them, n x o.

/// Throws as adapt() for a model of another space and for no samples; `what` names them.
void check_field_samples(const Model& model, std::size_t samples, const char* what);
/// adapt() to so many samples; predict(first, count) gives what Model::predict() does for some of them, in their order.
Adaptation adapt_in_batches(Model& model, std::size_t samples,
                            const std::function<Matrix<float>(std::size_t first, std::size_t count)>& predict,
                            const AdaptOptions& options, ThreadPool& pool, ProgressObserver* progress);
/// What careful adapting can still add to gamma when all unseen classes follow samples: a device adds it in parts.
double remaining_gamma_shift(const Model& model);
/// As teach(), which throws for unknown names before it predicts.
std::size_t index_of_class(const Model& model, const std::string& name);
/// As add_class_by_examples().
void add_class_predicted(Model& model, const std::string& name, Matrix<float> f);
/// Adds examples of class c of a model with targets classes.
void teach_predicted(Model& model, std::size_t c, Matrix<float> f);

}  // namespace parsnets
