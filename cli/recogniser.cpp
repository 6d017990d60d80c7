#include "recogniser.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "command.hpp"
#include "device/device_recogniser.hpp"

namespace parsnets::cli {

namespace {

Recogniser open_device(const std::string& file, const Wanted& wanted, ThreadPool& pool) {
  refuse_if(wanted.coverage.has_value(), "--coverage: expected a model file, found a device file");
  refuse_if(wanted.reasons > 0, "--explain: expected a model file, found a device file");
  const auto model = std::make_shared<const DeviceModel>(load_device_model(file));
  refuse_if(
      wanted.reject && !model->rejects(),
      "the device file has no rejection; calibrate a model of class space with 'parsnets calibrate' and export it");
  return recogniser_of(model, pool);
}

Recogniser open_model(const std::string& file, Wanted& wanted, ThreadPool& pool) {
  const auto model = std::make_shared<const Model>(load_model(file));
  refuse_if(wanted.reject && model->rejection.empty(),
            "the model has no rejection; calibrate it with 'parsnets calibrate'");
  refuse_if(wanted.coverage && model->sets.empty(),
            "the model has no prediction sets; calibrate it with 'parsnets calibrate'");
  refuse_if(wanted.reasons > 0 && model->direction != Direction::forward,
            "--explain: expected a forward model, found a reverse one");
  if (wanted.coverage) wanted.thresholds = model->sets.thresholds(*wanted.coverage, model->classes.seen);
  return recogniser_of(model, pool);
}

void add_sets(const Recogniser& model, const Ranking& ranking, std::span<const float> thresholds,
              MatrixView<const float> rows, ThreadPool& pool, Predictions& out) {
  model.visit_scores(rows, [&](std::size_t, MatrixView<const float> scores) {
    std::vector<std::vector<RankedClass>> sets(scores.rows());
    pool.parallel_for(scores.rows(), 16, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t r = begin; r < end; ++r) sets[r] = ranking.set(scores.row(r), thresholds);
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

Recogniser open_recogniser(const std::string& file, Wanted& wanted, ThreadPool& pool) {
  return is_device_file(file) ? open_device(file, wanted, pool) : open_model(file, wanted, pool);
}

Predictions predictions_of(const Recogniser& model, const Ranking& ranking, MatrixView<const float> rows,
                           std::size_t top, const Wanted& wanted, ThreadPool& pool) {
  Predictions out;
  if (rows.rows() == 0) return out;
  const bool sets = !wanted.thresholds.empty();
  out.verdicts.resize(wanted.reject ? rows.rows() : 0);
  if (wanted.reasons > 0) add_reasons(model, rows, wanted.reasons, pool, out);
  if (sets) add_sets(model, ranking, wanted.thresholds, rows, pool, out);
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
