// Gamma and temperature of a model from labelled samples.

#include <fmt/format.h>

#include "data/rows.hpp"
#include "eval/counts.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"

namespace parsnets {

void calibrate(Model& model, MatrixView<const float> x, std::span<const std::int32_t> labels, ThreadPool& pool) {
  const std::size_t classes = model.classes.names.size();
  const auto refuse = [](const std::string& field, const std::string& expected, const std::string& found) {
    throw Error(BadInput{"calibration", field, expected, found, ""});
  };
  if (labels.size() != x.rows())
    refuse("labels", fmt::format("{}, one per sample", x.rows()), std::to_string(labels.size()));
  struct Side {
    std::vector<std::int32_t> classes, rows, labels;
  } unseen, seen;
  for (std::size_t c = 0; c < classes; ++c)
    (model.classes.seen[c] ? seen : unseen).classes.push_back(static_cast<std::int32_t>(c));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= classes)
      refuse(fmt::format("label of sample {}", i), fmt::format("a class from 0 to {}", classes - 1),
             std::to_string(labels[i]));
    Side& side = model.classes.seen[static_cast<std::size_t>(labels[i])] ? seen : unseen;
    side.rows.push_back(static_cast<std::int32_t>(i));
    side.labels.push_back(labels[i]);
  }
  if (unseen.rows.empty() || seen.rows.empty())
    refuse("labels", "samples of seen and of unseen classes",
           fmt::format("{} of seen and {} of unseen classes", seen.rows.size(), unseen.rows.size()));
  const PreparedClasses prepared = model.prepare_classes(pool);
  const Matrix<float> unseen_rows = gather_rows(x, unseen.rows), seen_rows = gather_rows(x, seen.rows);
  const ScoreSource of_unseen = kept(source_of(model, prepared, unseen_rows.view(), pool), kKeptScores),
                    of_seen = kept(source_of(model, prepared, seen_rows.view(), pool), kKeptScores);
  GzslCount count(classes, {{unseen.labels, unseen.classes}, {seen.labels, seen.classes}});
  of_unseen.visit([&](std::size_t first, MatrixView<const float> scores) { count.add_unseen(first, scores); });
  of_seen.visit([&](std::size_t first, MatrixView<const float> scores) { count.add_seen(first, scores); });
  const double gamma = count.best_gamma();
  model.temperature = fit_temperature(
      GzslSources{{of_unseen, unseen.labels, unseen.classes}, {of_seen, seen.labels, seen.classes}}, gamma);
  model.gamma = gamma;
}

}  // namespace parsnets
