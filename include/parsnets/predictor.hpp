#pragma once
// Predictor: a model with its classes prepared and memory that is used again, for programs that predict often. Ranking:
// from the scores of a sample to the classes it is given, by the same rule in every interface.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "parsnets/model.hpp"

namespace parsnets {

/// Which classes compete.
enum class Among { all, seen, unseen };

/// A class that a sample is given.
struct RankedClass {
  std::int32_t class_index = 0;  ///< place in the class bank
  float score = 0;               ///< gamma subtracted from seen classes
  float confidence = 0;          ///< softmax of score / temperature over the candidates
};

/// Compares candidates by score after gamma was subtracted from seen classes; ties go to the earlier class of the bank.
/// Keeps no reference to the model. Const methods may be called from several threads at once.
class Ranking {
 public:
  /// Throws usage when the model has no such class.
  explicit Ranking(const Model& model, Among among = Among::all);
  /// Candidates are places in the bank. Throws usage unless there is at least one and each is a class, listed once.
  Ranking(const Model& model, std::vector<std::int32_t> candidates);
  /// The same for C classes of which `seen` (C values) were trained on.
  Ranking(std::span<const std::uint8_t> seen, double gamma, double temperature, std::vector<std::int32_t> candidates);
  /// The same for those of one kind.
  Ranking(std::span<const std::uint8_t> seen, double gamma, double temperature, Among among);

  double temperature() const { return temperature_; }  ///< of the softmax
  /// What is subtracted from the score of class c: gamma for seen classes, else 0.
  float penalty(std::int32_t c) const { return penalty_[static_cast<std::size_t>(c)]; }
  std::span<const std::int32_t> candidates() const { return candidates_; }  ///< ascending
  std::size_t classes() const { return penalty_.size(); }                   ///< C

  /// The best candidates of one row of C raw scores, best first, at most as many as there are; returns how many.
  std::size_t best(std::span<const float> scores, std::span<RankedClass> best) const;
  /// The prediction set of one row of C raw scores, best first: the best candidate, and those whose confidence is at
  /// least theirs of C thresholds (PredictionSets::thresholds).
  std::vector<RankedClass> set(std::span<const float> scores, std::span<const float> thresholds) const;

  /// Classes whose scores are ranked at a time; the last tile may have fewer.
  static constexpr std::size_t kTile = 1024;
  /// What the softmax needs to know of the candidates of a tile: the best score, and Σ exp((score − best)/temperature),
  /// 0 without candidates.
  using TileWeights = std::pair<float, double>;
  /// best() for scores that are never there all at once: first add_tile() for the tiles in order, then finish().
  /// `scores` are those of the tile alone, `best` has room for at most as many classes as there are candidates, of
  /// which `found` hold a class. The weights are left out on request.
  TileWeights add_tile(std::size_t tile, std::span<const float> scores, std::span<RankedClass> best, std::size_t& found,
                       bool weights = true) const;
  /// Sorts `best` and gives each class its confidence, from the weights of all tiles; none: confidences are 0. The bits
  /// are those of best().
  void finish(std::span<const TileWeights> tiles, std::span<RankedClass> best) const;
  /// The best candidate.
  std::int32_t winner(std::span<const float> scores) const;
  /// What is compared: the raw score of class c without gamma for seen classes.
  float calibrated(std::span<const float> scores, std::int32_t c) const {
    return scores[static_cast<std::size_t>(c)] - penalty_[static_cast<std::size_t>(c)];
  }
  /// C raw scores to C confidences in place; 0 for classes that are not candidates.
  void to_confidences(std::span<float> scores) const;

 private:
  std::vector<TileWeights> add_tiles(std::span<const float> scores, std::span<RankedClass> best) const;
  double total(std::span<const TileWeights> tiles, float top) const;

  std::vector<std::int32_t> candidates_;
  std::vector<std::size_t> tile_first_;  ///< of each tile, its first candidate; one more than tiles
  std::vector<float> penalty_;           ///< C: gamma for seen classes, else 0
  double temperature_;
};

/// Refers to the model, which must outlive it and must not change. Const methods may be called from several threads at
/// once; memory is kept for as many as did, and once they have, calls of the same size allocate nothing. A sample has
/// the same bits alone and in any batch, for any number of threads.
class Predictor {
 public:
  /// Prepares the classes of the model.
  Predictor(const Model& model, ThreadPool& pool);
  /// Takes classes that the model prepared before; null: only predict() may be called. Throws usage unless they belong
  /// to its present classes.
  Predictor(const Model& model, std::shared_ptr<const PreparedClasses> classes);
  ~Predictor();
  Predictor(Predictor&&) noexcept;             ///< the other may only be assigned to or destroyed
  Predictor& operator=(Predictor&&) noexcept;  ///< likewise

  /// n x d raw features to n x o class vectors, forward models only. `active`: n x k networks, or empty. Throws
  /// bad_input for a wrong d or non-finite values, counting samples from `first` on.
  void predict(MatrixView<const float> x, ThreadPool& pool, MatrixView<float> f, MatrixView<std::uint16_t> active = {},
               std::size_t first = 0) const;
  /// n x d raw features to n x C scores, as Model::scores. Throws bad_input for a wrong d or non-finite values.
  void scores(MatrixView<const float> x, ThreadPool& pool, MatrixView<float> scores) const;
  /// The same to the bit, some rows at a time: memory does not grow with n x C.
  void visit_scores(MatrixView<const float> x, ThreadPool& pool, const ScoreVisitor& visit) const;
  /// The second half of visit_scores(): n x o predicted class vectors to n x C scores, forward models only.
  void compare(MatrixView<const float> f, ThreadPool& pool, const ScoreVisitor& visit) const;
  /// The best classes of each of n samples, best first, as Ranking::best() finds them in the scores, of which only a
  /// block is ever held. `best` has n·k places, row by row, 1 <= k <= candidates (throws usage). Without confidences,
  /// which take a softmax over the candidates, they are 0. Throws as scores().
  void rank(MatrixView<const float> x, const Ranking& ranking, ThreadPool& pool, std::span<RankedClass> best,
            bool with_confidences = true) const;
  /// The same with confidences, and what Model::rejection judges each sample by (n values). Throws usage for models
  /// that are reverse or do not compare by cosine.
  void rank(MatrixView<const float> x, const Ranking& ranking, ThreadPool& pool, std::span<RankedClass> best,
            std::span<Evidence> evidence) const;

  const PreparedClasses& classes() const;  ///< what samples are compared with

 private:
  class State;
  std::unique_ptr<const State> state_;
};

}  // namespace parsnets
