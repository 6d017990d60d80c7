// Prediction of many samples. The bits of a sample's results depend on that sample alone, not on its block or the
// number of threads.

#include "parsnets/predictor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <mutex>
#include <optional>

#include "base/row_products.hpp"
#include "model/composite.hpp"
#include "model/evidence.hpp"
#include "model/fit_gates.hpp"
#include "model/prediction.hpp"
#include "model/scoring.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostRows = 512;   // of a block: networks are read once for all of them
constexpr std::size_t kFewestRows = 32;  // that are worth a thread of their own
static_assert(kScoredClasses == Ranking::kTile);

/// Copies a sample; 0 if all its values are finite.
PARSNETS_SIMD std::uint32_t copy_sample(const float* from, float* to, std::size_t count) {
  std::uint32_t bad = 0;
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = from[i];
    bad |= (std::bit_cast<std::uint32_t>(from[i]) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
  }
  return bad;
}

[[noreturn]] void refuse_sample(std::span<const float> x, std::size_t sample) {
  const auto bad = std::ranges::find_if(x, [](float v) { return !std::isfinite(v); });
  throw Error(BadInput{"input", fmt::format("sample {}, feature {}", sample, bad - x.begin()), "a finite number",
                       fmt::format("{}", *bad), "remove or replace the value"});
}

/// So that all threads have work, and about as much.
std::size_t rows_of_block(std::size_t rows, std::size_t threads) {
  std::size_t blocks = (rows + kMostRows - 1) / kMostRows;
  if (rows >= threads * kFewestRows) blocks = (blocks + threads - 1) / threads * threads;
  return (rows + blocks - 1) / std::max<std::size_t>(blocks, 1);
}

void point_to_rows(MatrixView<float> values, std::vector<float*>& rows) {
  rows.resize(values.rows());
  for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = values.row(r).data();
}

std::span<const float* const> read_only(const std::vector<float*>& rows) { return {rows.data(), rows.size()}; }

/// score(first, some of the rows, scores) makes the scores of some rows: some 32 MB of them at a time.
template <class Score>
void visit_rows(MatrixView<const float> rows, std::size_t classes, const ScoreVisitor& visit, const Score& score) {
  constexpr std::size_t kBytes = std::size_t{32} << 20, kFewest = 64;
  const std::size_t most =
      std::min(rows.rows(), std::max(kFewest, kBytes / sizeof(float) / std::max<std::size_t>(classes, 1)));
  Matrix<float> room(most, classes);
  for (std::size_t first = 0; first < rows.rows(); first += most) {
    const MatrixView<float> scores(room.data(), std::min(most, rows.rows() - first), classes);
    score(first, MatrixView<const float>(rows.row(first).data(), scores.rows(), rows.cols()), scores);
    visit(first, scores);
  }
}

}  // namespace

/// Takes blocks of samples from raw features to scores, each by one thread in memory that is used again. Refers to the
/// model, which must not change. All throw bad_input for a wrong number of features, for a non-finite one (the first is
/// named) and for scores that are not finite.
class Predictor::State {
 public:
  /// Memory of one thread; grows to what a block needs and is kept.
  struct Room {
    Matrix<float> x, e, f, tile, product;
    std::vector<float*> x_rows, e_rows, f_rows, tile_rows;
    std::vector<std::uint16_t> open;
    std::vector<std::size_t> found;
    std::vector<Ranking::TileWeights> weights;
    std::vector<float> outside, lengths;  ///< of each row, where evidence is asked for
    GateRoom gates;
    GroupRoom groups;
    ScoreRoom scores;

    std::span<const float* const> compared;  ///< rows that are compared with the classes: of f, x or e
    std::size_t compared_values = 0;
  };

  State(const Model& model, std::shared_ptr<const PreparedClasses> classes)
      : model_(model), prepared_(std::move(classes)), gates_(model.gates) {
    if (prepared_) check_prepared(model_, *prepared_);
  }

  const Model& model() const { return model_; }
  const PreparedClasses& classes() const { return *prepared_; }
  /// body(begin, end, room) for blocks of rows.
  template <class Body>
  void for_blocks(std::size_t rows, ThreadPool& pool, const Body& body) const;
  void check(MatrixView<const float> x) const;
  void embed(MatrixView<const float> x, std::size_t first, Room& room) const;
  void compose(Room& room, MatrixView<std::uint16_t> open, std::span<float* const> f,
               const LinearSpan* span = nullptr) const;
  void represent(Room& room, const LinearSpan* span = nullptr) const;
  const LinearSpan& linear_span(ThreadPool& pool) const;
  void score(Room& room, std::size_t first, std::size_t count, std::span<float* const> out, std::size_t offset) const;
  void score_all(Room& room, MatrixView<float> scores) const;
  /// Messages count samples from `first` on.
  void scores(MatrixView<const float> x, ThreadPool& pool, MatrixView<float> scores, std::size_t first) const;
  /// `evidence`: one per sample, with confidences; or empty.
  void rank(MatrixView<const float> x, const Ranking& ranking, ThreadPool& pool, std::span<RankedClass> best,
            bool with_confidences, std::span<Evidence> evidence) const;

 private:
  const Model& model_;
  std::shared_ptr<const PreparedClasses> prepared_;
  GateChooser gates_;
  mutable std::mutex mutex_;
  mutable std::optional<LinearSpan> span_;            ///< made when evidence is first asked for
  mutable std::vector<std::unique_ptr<Room>> rooms_;  ///< those that no thread works in
};

template <class Body>
void Predictor::State::for_blocks(std::size_t rows, ThreadPool& pool, const Body& body) const {
  const auto give_back = [this](Room* room) {
    const std::lock_guard lock(mutex_);
    rooms_.emplace_back(room);
  };
  const auto block = [&](std::size_t begin, std::size_t end, std::size_t) {
    std::unique_ptr<Room> taken;
    {
      const std::lock_guard lock(mutex_);
      if (!rooms_.empty()) {
        taken = std::move(rooms_.back());
        rooms_.pop_back();
      }
    }
    const std::unique_ptr<Room, decltype(give_back)> room(taken ? taken.release() : new Room, give_back);
    body(begin, end, *room);
  };
  pool.parallel_for(rows, rows_of_block(rows, pool.size()), std::cref(block));  // a reference needs no memory
}

/// Preprocesses and encodes samples, of which the first has number `first`.
void Predictor::State::embed(MatrixView<const float> x, std::size_t first, Room& room) const {
  const std::size_t n = x.rows(), d = x.cols(), h = model_.encoder.weights.rows();
  point_to_rows({at_least(room.x, n * d), n, d}, room.x_rows);
  for (std::size_t r = 0; r < n; ++r) {
    if (copy_sample(x.row(r).data(), room.x_rows[r], d) != 0) refuse_sample(x.row(r), first + r);
    model_.feature_preprocess.apply({room.x_rows[r], d});
  }
  if (model_.encoder.is_identity()) return;
  point_to_rows({at_least(room.e, n * h), n, h}, room.e_rows);
  multiply_transposed(read_only(room.x_rows), d, model_.encoder.weights.data(), h,
                      at_least(room.product, kProductScratch), room.e_rows);
}

/// Class vectors of what was embedded; `open`: rows x k, where the chosen networks go.
void Predictor::State::compose(Room& room, MatrixView<std::uint16_t> open, std::span<float* const> f,
                               const LinearSpan* span) const {
  const bool identity = model_.encoder.is_identity();
  const auto x = read_only(room.x_rows), e = identity ? x : read_only(room.e_rows),
             z = model_.networks_see_encoding ? e : x;
  gates_.choose(e, identity ? model_.dimensions : model_.encoder.weights.rows(), room.gates, open);
  const std::size_t o = model_.networks.cols();
  if (model_.shared.empty())
    for (float* row : f) std::ranges::copy(model_.bias, row);
  else
    multiply_rows(x, model_.dimensions, model_.shared.data(), o, model_.bias.data(), Into::set, f);
  const bool of_shared = !model_.shared.empty();
  if (span != nullptr && of_shared) span->measure(x, model_.dimensions, f, room.outside);
  add_networks({model_.networks.view(), model_.gates.networks, model_.relu}, z, open, room.groups, f);
  if (span != nullptr && !of_shared) span->measure(x, model_.dimensions, f, room.outside);
}

/// What is compared with classes, of samples that were embedded.
void Predictor::State::represent(Room& room, const LinearSpan* span) const {
  const std::size_t n = room.x_rows.size(), k = model_.gates.open;
  if (model_.direction == Direction::forward) {
    const MatrixView<float> f(at_least(room.f, n * model_.networks.cols()), n, model_.networks.cols());
    point_to_rows(f, room.f_rows);
    room.open.resize(n * k);
    compose(room, {room.open.data(), n, k}, room.f_rows, span);
    if (span != nullptr) lengths_in_class_space(model_, read_only(room.f_rows), room.lengths);
    centre_rows(model_, f);
    room.compared = read_only(room.f_rows);
    room.compared_values = f.cols();
  } else {
    const bool encoded = model_.networks_see_encoding && !model_.encoder.is_identity();
    room.compared = read_only(encoded ? room.e_rows : room.x_rows);
    room.compared_values = model_.z_dimensions();
  }
  measure_rows(room.compared, room.compared_values, room.scores);
}

/// Scores of what is compared against classes first, first + 1, …
void Predictor::State::score(Room& room, std::size_t first, std::size_t count, std::span<float* const> out,
                             std::size_t offset) const {
  const ClassBlock block{{prepared_->vectors.row(first).data(), count, room.compared_values},
                         std::span(prepared_->squares).subspan(first, count)};
  const bool finite = score_block(model_.similarity, room.compared, block, room.scores, out, offset);
  if (!finite && model_.direction == Direction::forward)
    throw Error(BadInput{"the model", "weights", "finite scores for finite features", "a score that is not finite",
                         "train it again"});
}

void Predictor::State::check(MatrixView<const float> x) const {
  if (x.cols() != model_.dimensions)
    throw Error(BadInput{"input", "features", fmt::format("{} per sample, as in training", model_.dimensions),
                         std::to_string(x.cols()), "use the features of the training data"});
}

void Predictor::State::scores(MatrixView<const float> x, ThreadPool& pool, MatrixView<float> scores,
                              std::size_t first) const {
  check(x);
  for_blocks(x.rows(), pool, [&](std::size_t begin, std::size_t end, Room& room) {
    embed({x.row(begin).data(), end - begin, x.cols()}, first + begin, room);
    represent(room);
    score_all(room, {scores.row(begin).data(), end - begin, scores.cols()});
  });
}

void Predictor::State::score_all(Room& room, MatrixView<float> scores) const {
  point_to_rows(scores, room.tile_rows);
  for (std::size_t first = 0; first < scores.cols(); first += kScoredClasses)
    score(room, first, std::min(kScoredClasses, scores.cols() - first), room.tile_rows, first);
}

const LinearSpan& Predictor::State::linear_span(ThreadPool& pool) const {
  const std::lock_guard lock(mutex_);
  if (!span_) span_.emplace(model_, pool);
  return *span_;
}

void Predictor::State::rank(MatrixView<const float> x, const Ranking& ranking, ThreadPool& pool,
                            std::span<RankedClass> best, bool with_confidences, std::span<Evidence> evidence) const {
  const std::size_t all = prepared_->vectors.rows(), most = ranking.candidates().size();
  if (ranking.classes() != all)
    throw Error(ErrorCode::usage,
                fmt::format("ranking: expected one of {} classes, found one of {}", all, ranking.classes()));
  if (x.rows() > 0 && (best.size() % x.rows() != 0 || best.empty() || best.size() / x.rows() > most))
    throw Error(ErrorCode::usage,
                fmt::format("ranking: expected room for 1 to {} classes of each of {} samples, found {} in all", most,
                            x.rows(), best.size()));
  check(x);
  if (x.rows() == 0) return;
  const LinearSpan* span = evidence.empty() ? nullptr : &linear_span(pool);
  const std::size_t k = best.size() / x.rows(), tiles = (all + kScoredClasses - 1) / kScoredClasses;
  for_blocks(x.rows(), pool, [&](std::size_t begin, std::size_t end, Room& room) {
    const std::size_t n = end - begin, width = std::min(all, kScoredClasses);
    embed({x.row(begin).data(), n, x.cols()}, begin, room);
    represent(room, span);
    const auto best_of = [&](std::size_t r) { return best.subspan((begin + r) * k, k); };
    const MatrixView<float> tile(at_least(room.tile, n * width), n, width);
    point_to_rows(tile, room.tile_rows);
    room.found.assign(n, 0);
    room.weights.resize(n * tiles);
    for (std::size_t t = 0; t < tiles; ++t) {
      const std::size_t first = t * kScoredClasses, count = std::min(kScoredClasses, all - first);
      score(room, first, count, room.tile_rows, 0);
      for (std::size_t r = 0; r < n; ++r)
        room.weights[r * tiles + t] =
            ranking.add_tile(t, {room.tile_rows[r], count}, best_of(r), room.found[r], with_confidences);
    }
    for (std::size_t r = 0; r < n; ++r) {
      ranking.finish(
          with_confidences ? std::span(room.weights).subspan(r * tiles, tiles) : std::span<Ranking::TileWeights>(),
          best_of(r));
      if (span != nullptr)
        evidence[begin + r] =
            evidence_of(ranking, *prepared_, best_of(r)[0], room.lengths[r], model_.outputs(), room.outside[r]);
    }
  });
}

Predictor::Predictor(const Model& model, ThreadPool& pool)
    : Predictor(model, std::make_shared<const PreparedClasses>(model.prepare_classes(pool))) {}

Predictor::Predictor(const Model& model, std::shared_ptr<const PreparedClasses> classes)
    : state_(std::make_unique<const State>(model, std::move(classes))) {}

Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor& Predictor::operator=(Predictor&&) noexcept = default;

const PreparedClasses& Predictor::classes() const { return state_->classes(); }

void Predictor::predict(MatrixView<const float> x, ThreadPool& pool, MatrixView<float> f,
                        MatrixView<std::uint16_t> active, std::size_t first) const {
  state_->check(x);
  const std::size_t k = state_->model().gates.open;
  state_->for_blocks(x.rows(), pool, [&](std::size_t begin, std::size_t end, State::Room& room) {
    state_->embed({x.row(begin).data(), end - begin, x.cols()}, first + begin, room);
    point_to_rows({f.row(begin).data(), end - begin, f.cols()}, room.f_rows);
    room.open.resize((end - begin) * k);
    state_->compose(room, {active.empty() ? room.open.data() : active.row(begin).data(), end - begin, k}, room.f_rows);
  });
}

void Predictor::scores(MatrixView<const float> x, ThreadPool& pool, MatrixView<float> scores) const {
  if (scores.rows() != x.rows() || scores.cols() != classes().vectors.rows())
    throw Error(ErrorCode::usage, fmt::format("scores: expected room for {} x {} values, found {} x {}", x.rows(),
                                              classes().vectors.rows(), scores.rows(), scores.cols()));
  state_->scores(x, pool, scores, 0);
}

void Predictor::visit_scores(MatrixView<const float> x, ThreadPool& pool, const ScoreVisitor& visit) const {
  visit_rows(x, classes().vectors.rows(), visit,
             [&](std::size_t first, MatrixView<const float> some, MatrixView<float> scores) {
               state_->scores(some, pool, scores, first);
             });
}

void Predictor::compare(MatrixView<const float> f, ThreadPool& pool, const ScoreVisitor& visit) const {
  const auto score = [&](std::size_t, MatrixView<const float> some, MatrixView<float> scores) {
    state_->for_blocks(some.rows(), pool, [&](std::size_t begin, std::size_t end, State::Room& room) {
      const MatrixView<float> centred(at_least(room.f, (end - begin) * f.cols()), end - begin, f.cols());
      std::copy_n(some.row(begin).data(), centred.size(), centred.data());
      centre_rows(state_->model(), centred);
      point_to_rows(centred, room.f_rows);
      room.compared = read_only(room.f_rows);
      room.compared_values = f.cols();
      measure_rows(room.compared, f.cols(), room.scores);
      state_->score_all(room, {scores.row(begin).data(), end - begin, scores.cols()});
    });
  };
  visit_rows(f, classes().vectors.rows(), visit, score);
}

void Predictor::rank(MatrixView<const float> x, const Ranking& ranking, ThreadPool& pool, std::span<RankedClass> best,
                     bool with_confidences) const {
  state_->rank(x, ranking, pool, best, with_confidences, {});
}

void Predictor::rank(MatrixView<const float> x, const Ranking& ranking, ThreadPool& pool, std::span<RankedClass> best,
                     std::span<Evidence> evidence) const {
  if (evidence.size() != x.rows())
    throw Error(ErrorCode::usage,
                fmt::format("evidence: expected room for {} samples, found {}", x.rows(), evidence.size()));
  state_->rank(x, ranking, pool, best, true, evidence);
}

}  // namespace parsnets
