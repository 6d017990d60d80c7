#include "parsnets/predictor.hpp"

#include <fmt/format.h>

#include "model/pipeline.hpp"
#include "model/prediction.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

Predictor::Predictor(const Model& model, ThreadPool& pool)
    : Predictor(model, std::make_shared<const PreparedClasses>(model.prepare_classes(pool))) {}

Predictor::Predictor(const Model& model, std::shared_ptr<const PreparedClasses> classes)
    : classes_(std::move(classes)), pipeline_(std::make_unique<const Pipeline>(model)) {
  check_prepared(model, *classes_);
}

Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor& Predictor::operator=(Predictor&&) noexcept = default;

void Predictor::scores(MatrixView<const float> x, ThreadPool& pool, MatrixView<float> scores) const {
  if (scores.rows() != x.rows() || scores.cols() != classes_->vectors.rows())
    throw Error(ErrorCode::usage, fmt::format("scores: expected room for {} x {} values, found {} x {}", x.rows(),
                                              classes_->vectors.rows(), scores.rows(), scores.cols()));
  pipeline_->scores(x, *classes_, pool, scores);
}

void Predictor::check_ranking(std::size_t n, const Ranking& ranking, std::span<RankedClass> best) const {
  const std::size_t most = ranking.candidates().size();
  if (ranking.classes() != classes_->vectors.rows())
    throw Error(ErrorCode::usage, fmt::format("ranking: expected one of {} classes, found one of {}",
                                              classes_->vectors.rows(), ranking.classes()));
  if (n > 0 && (best.size() % n != 0 || best.empty() || best.size() / n > most))
    throw Error(ErrorCode::usage,
                fmt::format("ranking: expected room for 1 to {} classes of each of {} samples, found {} in all", most,
                            n, best.size()));
}

void Predictor::rank(MatrixView<const float> x, const Ranking& ranking, ThreadPool& pool, std::span<RankedClass> best,
                     bool with_confidences) const {
  check_ranking(x.rows(), ranking, best);
  pipeline_->rank(x, *classes_, ranking, pool, best, with_confidences);
}

void Predictor::rank(MatrixView<const float> x, const Ranking& ranking, ThreadPool& pool, std::span<RankedClass> best,
                     std::span<Evidence> evidence) const {
  check_ranking(x.rows(), ranking, best);
  if (evidence.size() != x.rows())
    throw Error(ErrorCode::usage,
                fmt::format("evidence: expected room for {} samples, found {}", x.rows(), evidence.size()));
  pipeline_->rank(x, *classes_, ranking, pool, best, true, evidence);
}

}  // namespace parsnets
