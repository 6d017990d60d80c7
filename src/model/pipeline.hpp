#pragma once
// Prediction of many samples: blocks of them go from raw features to scores, each by one thread in memory that is used
// again. The bits of a sample's results depend on that sample alone, not on its block or the number of threads.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "model/evidence.hpp"
#include "model/fit_gates.hpp"
#include "parsnets/model.hpp"
#include "parsnets/ranking.hpp"

namespace parsnets {

/// Refers to the model, which must not change. Const methods may be called from several threads at once; memory is kept
/// for as many as did. All throw bad_input for a wrong number of features, for a non-finite one (the first is named)
/// and for scores that are not finite.
class Pipeline {
 public:
  explicit Pipeline(const Model& model);
  ~Pipeline();

  /// n x d raw features to n x o class vectors, forward models only; `open`: n x k networks, or empty.
  void predict(MatrixView<const float> x, ThreadPool& pool, MatrixView<float> f,
               MatrixView<std::uint16_t> open = {}) const;
  /// n x d raw features to n x C scores. Messages count samples from `first` on.
  void scores(MatrixView<const float> x, const PreparedClasses& classes, ThreadPool& pool, MatrixView<float> scores,
              std::size_t first = 0) const;
  /// n x o predicted class vectors to n x C scores, forward models only.
  void compare(MatrixView<const float> f, const PreparedClasses& classes, ThreadPool& pool,
               MatrixView<float> scores) const;
  /// n x d raw features to the best classes of each, `best`: n rows of equally many, at most as many as there are
  /// candidates. Never holds more scores than those of a block of samples to a block of classes.
  /// `evidence`: one per sample, with confidences; or empty.
  void rank(MatrixView<const float> x, const PreparedClasses& classes, const Ranking& ranking, ThreadPool& pool,
            std::span<RankedClass> best, bool with_confidences, std::span<Evidence> evidence = {}) const;

 private:
  struct Room;
  class Borrowed;
  template <class Body>
  void for_blocks(std::size_t rows, ThreadPool& pool, const Body& body) const;
  void check(MatrixView<const float> x) const;
  void embed(MatrixView<const float> x, std::size_t first, Room& room) const;
  void compose(Room& room, MatrixView<std::uint16_t> open, std::span<float* const> f,
               const LinearSpan* span = nullptr) const;
  void represent(Room& room, const LinearSpan* span = nullptr) const;
  const LinearSpan& linear_span(ThreadPool& pool) const;
  void score(Room& room, const PreparedClasses& classes, std::size_t first, std::size_t count,
             std::span<float* const> out, std::size_t offset) const;
  void score_all(Room& room, const PreparedClasses& classes, MatrixView<float> scores) const;

  const Model& model_;
  GateChooser gates_;
  mutable std::mutex mutex_;
  mutable std::optional<LinearSpan> span_;            ///< made when evidence is first asked for
  mutable std::vector<std::unique_ptr<Room>> rooms_;  ///< those that no thread works in
};

}  // namespace parsnets
