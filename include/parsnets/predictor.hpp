#pragma once
// Predictor: a model with its classes prepared and memory that is used again, for programs that predict often.

#include <memory>
#include <span>

#include "parsnets/model.hpp"
#include "parsnets/ranking.hpp"

namespace parsnets {

class Pipeline;

/// Refers to the model, which must outlive it and must not change. Const methods may be called from several threads at
/// once; memory is kept for as many as did, and once they have, calls of the same size allocate nothing. A sample has
/// the same bits alone and in any batch, for any number of threads.
class Predictor {
 public:
  /// Prepares the classes of the model.
  Predictor(const Model& model, ThreadPool& pool);
  /// Takes classes that the model prepared before. Throws usage unless they belong to its present bank.
  Predictor(const Model& model, std::shared_ptr<const PreparedClasses> classes);
  ~Predictor();
  Predictor(Predictor&&) noexcept;             ///< the other may only be assigned to or destroyed
  Predictor& operator=(Predictor&&) noexcept;  ///< likewise

  /// n x d raw features to n x C scores, as Model::scores. Throws bad_input for a wrong d or non-finite values.
  void scores(MatrixView<const float> x, ThreadPool& pool, MatrixView<float> scores) const;
  /// The best classes of each of n samples, best first, as Ranking::best() finds them in the scores, of which only a
  /// block is ever held. `best` has n·k places, row by row, 1 <= k <= candidates (throws usage). Without confidences,
  /// which take a softmax over the candidates, they are 0. Throws as scores().
  void rank(MatrixView<const float> x, const Ranking& ranking, ThreadPool& pool, std::span<RankedClass> best,
            bool with_confidences = true) const;
  /// The same with confidences, and what Model::rejection judges each sample by (n values). Throws usage for models
  /// that are reverse or do not compare by cosine.
  void rank(MatrixView<const float> x, const Ranking& ranking, ThreadPool& pool, std::span<RankedClass> best,
            std::span<Evidence> evidence) const;

  const PreparedClasses& classes() const { return *classes_; }  ///< what samples are compared with

 private:
  void check_ranking(std::size_t n, const Ranking& ranking, std::span<RankedClass> best) const;

  std::shared_ptr<const PreparedClasses> classes_;
  std::unique_ptr<const Pipeline> pipeline_;
};

}  // namespace parsnets
