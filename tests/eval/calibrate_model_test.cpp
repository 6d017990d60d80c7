#include <gtest/gtest.h>

#include <cmath>

#include "data/rows.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/ranking.hpp"
#include "parsnets/training.hpp"
#include "small_training.hpp"

namespace parsnets {

TEST(CalibrateModel, GammaAndTemperatureAreTheBestOfAFineGrid) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(2);
  Model model = train(data, test::small_options(Method::ridge), pool);
  std::vector<std::int32_t> rows = data.split.test_seen;
  rows.insert(rows.end(), data.split.test_unseen.begin(), data.split.test_unseen.end());
  const Matrix<float> x = gather_rows(data.features.view(), rows);
  const auto labels = labels_of(data, rows);
  calibrate(model, x.view(), labels, pool);

  const Matrix<float> scores = model.scores(x.view(), pool);
  const auto harmonic = [&](double gamma) {
    std::vector<double> right(data.classes(), 0), all(data.classes(), 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::size_t best = 0;
      double top = -1e30;
      for (std::size_t c = 0; c < data.classes(); ++c)
        if (const double s = scores(i, c) - (model.classes.seen[c] ? gamma : 0); s > top) top = s, best = c;
      all[static_cast<std::size_t>(labels[i])] += 1;
      right[static_cast<std::size_t>(labels[i])] += best == static_cast<std::size_t>(labels[i]);
    }
    double sum[2] = {0, 0}, count[2] = {0, 0};
    for (std::size_t c = 0; c < data.classes(); ++c)
      if (all[c] > 0) sum[model.classes.seen[c]] += right[c] / all[c], count[model.classes.seen[c]] += 1;
    const double u = sum[0] / count[0], s = sum[1] / count[1];
    return u + s > 0 ? 2 * u * s / (u + s) : 0;
  };
  for (double gamma = -2; gamma <= 2; gamma += 0.002) EXPECT_LE(harmonic(gamma), harmonic(model.gamma) + 1e-9) << gamma;

  const auto loss = [&](double temperature) {
    Model at = train(data, test::small_options(Method::ridge), pool);
    at.gamma = model.gamma;
    at.temperature = temperature;
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<float> row(scores.row(i).begin(), scores.row(i).end());
      Ranking(at).to_confidences(row);
      sum -= std::log(std::max(1e-30, static_cast<double>(row[static_cast<std::size_t>(labels[i])])));
    }
    return sum;
  };
  const double best = loss(model.temperature);
  for (const double factor : {0.5, 0.9, 1.1, 2.0}) EXPECT_GT(loss(model.temperature * factor), best) << factor;
}

TEST(CalibrateModel, WrongLabelsAreRefusedAndChangeNothing) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(1);
  Model model = train(data, test::small_options(Method::ridge), pool);
  const double gamma = model.gamma;
  const auto refused = [&](std::vector<std::int32_t> labels) {
    try {
      calibrate(model, data.features.view(), labels, pool);
    } catch (const Error& e) {
      return e.code() == ErrorCode::bad_input;
    }
    return false;
  };
  EXPECT_TRUE(refused({0}));
  EXPECT_TRUE(refused(std::vector<std::int32_t>(data.samples(), 99)));
  EXPECT_TRUE(refused(std::vector<std::int32_t>(data.samples(), data.unseen_classes()[0])));
  EXPECT_EQ(model.gamma, gamma);
}

}  // namespace parsnets
