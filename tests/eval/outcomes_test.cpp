#include "eval/outcomes.hpp"

#include <gtest/gtest.h>

#include "eval/random_outcomes.hpp"
#include "parsnets/error.hpp"
#include "small_training.hpp"

namespace parsnets::test {

namespace {

template <class Body>
std::string refusal(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.what();
  }
  return "";
}

}  // namespace

TEST(Outcomes, EstimatesAreTheFiguresOfTheEvaluationsAveragedOverRuns) {
  const TrainedModel t(Method::ridge), other(Method::eszsl);
  ThreadPool pool(1);
  const auto a = evaluate(t.model, t.data, pool), b = evaluate(other.model, t.data, pool);
  const auto of_one = bootstrap_intervals(outcomes_of(t.data, {&a.correct, 1}), pool);
  EXPECT_NEAR(of_one.zsl.estimate, a.zsl.top1_per_class, 1e-9);
  EXPECT_NEAR(of_one.u.estimate, a.gzsl.u, 1e-9);
  EXPECT_NEAR(of_one.s.estimate, a.gzsl.s, 1e-9);
  EXPECT_NEAR(of_one.h.estimate, a.gzsl.h, 1e-9);
  const Correctness runs[] = {a.correct, b.correct};
  const auto of_two = bootstrap_intervals(outcomes_of(t.data, runs), pool);
  const double u = (a.gzsl.u + b.gzsl.u) / 2, s = (a.gzsl.s + b.gzsl.s) / 2;
  EXPECT_NE(a.gzsl.u, b.gzsl.u);
  EXPECT_NEAR(of_two.zsl.estimate, (a.zsl.top1_per_class + b.zsl.top1_per_class) / 2, 1e-9);
  EXPECT_NEAR(of_two.u.estimate, u, 1e-9);
  EXPECT_NEAR(of_two.s.estimate, s, 1e-9);
  EXPECT_NEAR(of_two.h.estimate, 2 * u * s / (u + s), 1e-9);
}

TEST(Outcomes, RunsOnOtherSamplesAreRefused) {
  const Dataset data = small_training_set();
  EXPECT_NE(refusal([&] { outcomes_of(data, {}); }), "");
  Correctness run;
  run.zsl.resize(data.split.test_unseen.size());
  EXPECT_NE(refusal([&] { outcomes_of(data, {&run, 1}); }).find("unseen"), std::string::npos);
}

TEST(Outcomes, OnesThatAreNotWholeAreRefused) {
  ThreadPool pool(1);
  const auto good = random_outcomes(1, 4, 3, 0.5, 0.2);
  const auto expect_refused = [&](auto&& change) {
    auto bad = good;
    change(bad);
    EXPECT_NE(refusal([&] { bootstrap_intervals(bad, pool); }), "");
    EXPECT_NE(refusal([&] { compare_paired(good, bad, pool); }), "");
  };
  expect_refused([](Outcomes& o) { o.runs = 0; });
  expect_refused([](Outcomes& o) { o.zsl[0] = 2; });
  expect_refused([](Outcomes& o) { o.zsl.pop_back(); });
  expect_refused([](Outcomes& o) { o.unseen.clear(); });
  expect_refused([](Outcomes& o) { o.seen.push_back(0); });
  expect_refused([](Outcomes& o) { o = {}; });
  auto others = good;
  std::swap(others.unseen_labels[0], others.unseen_labels[1]);
  EXPECT_NE(refusal([&] { compare_paired(good, others, pool); }).find("same test samples"), std::string::npos);
}

}  // namespace parsnets::test
