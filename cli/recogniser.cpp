#include "recogniser.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "parsnets/predictor.hpp"

namespace parsnets::cli {

namespace {

Recogniser open_device(const std::string& file, const Wanted& wanted, ThreadPool& pool) {
  if (wanted.coverage) throw Error(ErrorCode::usage, "--coverage: expected a model file, found a device file");
  if (wanted.reasons > 0) throw Error(ErrorCode::usage, "--explain: expected a model file, found a device file");
  const auto model = std::make_shared<const DeviceModel>(load_device_model(file));
  if (wanted.reject && !model->rejects())
    throw Error(
        ErrorCode::usage,
        "the device file has no rejection; calibrate a model of class space with 'parsnets calibrate' and export it");
  Recogniser out{model->class_names(), model->class_seen(), model->gamma(),
                 model->temperature(), model->dimensions(), model->outputs()};
  out.source = model->source();
  out.rank = [model, &pool](MatrixView<const float> x, const Ranking& ranking, std::span<RankedClass> best,
                            std::span<Verdict> verdicts) {
    if (!verdicts.empty()) {
      std::vector<float> known_scores(x.rows());
      const auto unknown = model->unknown(x, Among::all, pool, known_scores);
      for (std::size_t r = 0; r < x.rows(); ++r) verdicts[r] = {known_scores[r], unknown[r] != 0, false, {}};
    }
    constexpr std::size_t kRows = 512;  // whose scores are held at a time
    const std::size_t top = best.size() / x.rows();
    for (std::size_t first = 0; first < x.rows(); first += kRows) {
      const Matrix<float> scores =
          model->scores({x.row(first).data(), std::min(kRows, x.rows() - first), x.cols()}, pool);
      for (std::size_t r = 0; r < scores.rows(); ++r) ranking.best(scores.row(r), best.subspan((first + r) * top, top));
    }
  };
  return out;
}

Recogniser open_model(const std::string& file, const Wanted& wanted, ThreadPool& pool) {
  const auto model = std::make_shared<const Model>(load_model(file));
  if (wanted.reject && model->rejection.empty())
    throw Error(ErrorCode::usage, "the model has no rejection; calibrate it with 'parsnets calibrate'");
  if (wanted.coverage && model->sets.empty())
    throw Error(ErrorCode::usage, "the model has no prediction sets; calibrate it with 'parsnets calibrate'");
  if (wanted.reasons > 0 && model->direction != Direction::forward)
    throw Error(ErrorCode::usage, "--explain: expected a forward model, found a reverse one");
  const auto predictor = std::make_shared<const Predictor>(*model, pool);
  Recogniser out{model->classes.names, model->classes.seen, model->gamma,
                 model->temperature,   model->dimensions,   model->outputs()};
  out.attribute_names = model->attribute_names;
  out.source = model->record.data.source;
  out.weakness = weak_rejection(model->rejection);
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
  if (wanted.coverage) out.thresholds = model->sets.thresholds(*wanted.coverage, model->classes.seen);
  out.visit_scores = [model, predictor, &pool](MatrixView<const float> x, const ScoreVisitor& visit) {
    model->visit_scores(x, predictor->classes(), pool, visit);
  };
  out.explain = [model, predictor](std::span<const float> x, ThreadPool& threads) {
    return explain(*model, x, predictor->classes(), threads);
  };
  out.why = [model](const Verdict& verdict) {
    return unknown_because(model->rejection, verdict.evidence, verdict.best_is_seen);
  };
  return out;
}

void add_sets(const Recogniser& model, const Ranking& ranking, MatrixView<const float> rows, ThreadPool& pool,
              Predictions& out) {
  model.visit_scores(rows, [&](std::size_t, MatrixView<const float> scores) {
    std::vector<std::vector<RankedClass>> sets(scores.rows());
    pool.parallel_for(scores.rows(), 16, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t r = begin; r < end; ++r) sets[r] = ranking.set(scores.row(r), model.thresholds);
    });
    for (const auto& set : sets) {
      out.counts.push_back(static_cast<std::uint32_t>(set.size()));
      out.classes.insert(out.classes.end(), set.begin(), set.end());
    }
  });
}

/// The attributes that spoke most for the best class.
void add_reasons(const Recogniser& model, MatrixView<const float> rows, std::size_t most, ThreadPool& pool,
                 Predictions& out) {
  out.runners_up.resize(rows.rows());
  out.beside.resize(rows.rows());
  std::vector<std::vector<Contribution>> reasons(rows.rows());
  pool.parallel_for(rows.rows(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t r = begin; r < end; ++r) {
      Explanation why = model.explain(rows.row(r), pool);
      out.runners_up[r] = why.runner_up;
      out.beside[r] = {why.calibration, why.examples};
      auto& all = why.attributes;
      std::ranges::stable_sort(all, std::greater{}, &Contribution::amount);
      reasons[r].assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size())));
    }
  });
  for (const auto& own : reasons) out.reasons.insert(out.reasons.end(), own.begin(), own.end());
}

template <class T>
std::vector<T> gathered(std::vector<T> own, Processes& processes) {
  if (processes.size() == 1) return own;
  const auto parts = processes.gather({reinterpret_cast<const char*>(own.data()), own.size() * sizeof(T)});
  std::vector<T> all;
  for (const std::string& part : parts) {
    const std::size_t before = all.size();
    all.resize(before + part.size() / sizeof(T));
    std::memcpy(all.data() + before, part.data(), part.size());
  }
  return all;
}

}  // namespace

Recogniser open_recogniser(const std::string& file, const Wanted& wanted, ThreadPool& pool) {
  return is_device_file(file) ? open_device(file, wanted, pool) : open_model(file, wanted, pool);
}

Predictions predictions_of(const Recogniser& model, const Ranking& ranking, MatrixView<const float> rows,
                           std::size_t top, const Wanted& wanted, ThreadPool& pool) {
  Predictions out;
  if (rows.rows() == 0) return out;
  const bool sets = !model.thresholds.empty();
  out.verdicts.resize(wanted.reject ? rows.rows() : 0);
  if (wanted.reasons > 0) add_reasons(model, rows, wanted.reasons, pool, out);
  if (sets) add_sets(model, ranking, rows, pool, out);
  if (sets && !wanted.reject) return out;
  std::vector<RankedClass> best(rows.rows() * top);
  model.rank(rows, ranking, best, out.verdicts);
  if (sets) return out;
  out.classes = std::move(best);
  out.counts.assign(rows.rows(), static_cast<std::uint32_t>(top));
  return out;
}

Predictions gathered(Predictions own, Processes& processes) {
  return {gathered(std::move(own.classes), processes),  gathered(std::move(own.counts), processes),
          gathered(std::move(own.verdicts), processes), gathered(std::move(own.runners_up), processes),
          gathered(std::move(own.reasons), processes),  gathered(std::move(own.beside), processes)};
}

}  // namespace parsnets::cli
