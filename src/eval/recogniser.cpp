#include "eval/recogniser.hpp"

namespace parsnets {

Recogniser recogniser_of(std::shared_ptr<const Model> model, ThreadPool& pool) {
  const auto predictor = std::make_shared<const Predictor>(*model, pool);
  Recogniser out{model->classes.names, model->classes.seen, model->gamma,
                 model->temperature,   model->dimensions,   model->outputs()};
  out.attribute_names = model->attribute_names;
  out.source = model->record.data.source;
  out.sets = model->sets;
  out.weakness = weak_rejection(*model);
  out.visit_scores = [predictor, &pool](MatrixView<const float> x, const ScoreVisitor& visit) {
    predictor->visit_scores(x, pool, visit);
  };
  out.rank = [model, predictor, &pool](MatrixView<const float> x, const Ranking& ranking, std::span<RankedClass> best,
                                       std::span<Verdict> verdicts) {
    if (verdicts.empty()) return predictor->rank(x, ranking, pool, best);
    std::vector<Evidence> evidence(x.rows());
    predictor->rank(x, ranking, pool, best, evidence);
    for (std::size_t r = 0; r < x.rows(); ++r) {
      const auto winner = static_cast<std::size_t>(best[r * (best.size() / x.rows())].class_index);
      const bool seen = model->classes.seen[winner] != 0;
      verdicts[r] = {model->rejection.known_score(evidence[r], seen), model->rejection.is_unknown(evidence[r], seen),
                     seen, evidence[r]};
    }
  };
  out.explain = [model, predictor](std::span<const float> x, ThreadPool& threads) {
    return explain(*model, x, predictor->classes(), threads);
  };
  out.why = [model](const Verdict& verdict) {
    return unknown_because(model->rejection, verdict.evidence, verdict.best_is_seen);
  };
  return out;
}

}  // namespace parsnets
