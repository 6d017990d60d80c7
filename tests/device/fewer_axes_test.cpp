#include "device/fewer_axes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/linalg.hpp"
#include "largest_difference.hpp"
#include "pool_test.hpp"
#include "small_device.hpp"

namespace parsnets {
namespace {

using FewerAxes = test::PoolTest;

/// Σ |v_c|² over class vectors of unit length that lies in the axes that are kept.
double kept_energy(const Model& model, const Model& reduced) {
  const Matrix<float> before = model.class_vectors(), after = reduced.class_vectors();
  double sum = 0;
  for (std::size_t c = 0; c < before.rows(); ++c)
    sum += dot(after.row(c), after.row(c)) / dot(before.row(c), before.row(c));
  return sum;
}

TEST_F(FewerAxes, AllAxesAreARotationThatChangesNoScore) {
  const Matrix<float> x = test::small_samples(20);
  for (const char* kind : {"classes", "classes linear", "classes tables", "anchor"}) {
    const Model model = test::small_model(kind, pool);
    const Model turned = with_fewer_axes(model, {.class_space = 0.9999, .encoding = 0.9999}, pool);
    EXPECT_EQ(turned.outputs(), model.outputs());
    EXPECT_LT(largest_difference(model.scores(x.view(), pool), turned.scores(x.view(), pool)), 1e-4) << kind;
    EXPECT_LT(largest_difference(model.predict_semantics(x.view(), pool), turned.predict_semantics(x.view(), pool)),
              1e-2)
        << kind;
    if (can_lose_outputs(model) || can_lose_encoding(model)) {
      EXPECT_GT(largest_difference(model.predict(x.view(), pool), turned.predict(x.view(), pool)) +
                    largest_difference(model.gates.anchors, turned.gates.anchors),
                1e-2)
          << kind << ": nothing was turned";
    }
  }
}

TEST_F(FewerAxes, KeepsTheAxesOfClassVectorsThatMatterMost) {
  const Model model = test::small_model("classes", pool);
  double last = static_cast<double>(model.classes.names.size()) + 1e-3;
  for (const double share : {0.75, 0.5, 0.25}) {
    const Model reduced = with_fewer_axes(model, {.class_space = share}, pool);
    const auto kept = static_cast<std::size_t>(std::ceil(share * static_cast<double>(model.outputs())));
    EXPECT_EQ(reduced.outputs(), kept);
    const double energy = kept_energy(model, reduced);
    EXPECT_LT(energy, last);
    Matrix<float> first = model.class_vectors();  // as much as any other axes hold, such as the first ones
    double of_first = 0;
    for (std::size_t c = 0; c < first.rows(); ++c)
      of_first += dot(first.row(c).first(kept), first.row(c).first(kept)) / dot(first.row(c), first.row(c));
    EXPECT_GE(energy, of_first - 1e-3);
    last = energy;
    const DeviceModel device(device_file(reduced, Precision::int8, 0, pool), "reduced");
    EXPECT_EQ(device.outputs(), kept);
  }
}

TEST_F(FewerAxes, ADeviceLearnsAndExplainsWithWhatIsKept) {
  const Model model = test::small_model("classes", pool);
  const Model reduced = with_fewer_axes(model, {.class_space = 0.5}, pool);
  test::SmallBank device(device_file(reduced, Precision::int8, 0, pool));
  const Matrix<float> x = test::small_samples(20);
  std::vector<float> attributes(device.model.attributes, 1.0f), contributions(attributes.size());
  EXPECT_EQ(device.add("new", attributes), PNRT_OK);
  EXPECT_EQ(device.adapt(x.data(), x.rows()), PNRT_OK);
  pnrt_explanation why;
  ASSERT_EQ(pnrt_explain(&device.model, &device.bank, x.data(), &why, contributions.data(), nullptr, device.work.data(),
                         device.work_bytes()),
            PNRT_OK);
  float sum = why.calibration + why.examples;
  for (const float one : contributions) sum += one;
  EXPECT_NEAR(sum, why.winner_score - why.runner_up_score, 1e-4);
}

TEST_F(FewerAxes, RejectionKeepsAllOfClassSpace) {
  Model model = test::small_model("classes", pool);
  EXPECT_TRUE(can_lose_outputs(model));
  model.rejection.false_accept = 0.05;
  EXPECT_FALSE(can_lose_outputs(model));
  EXPECT_EQ(with_fewer_axes(model, {.class_space = 0.5}, pool).outputs(), model.outputs());
  const Model semantics = test::small_model("linear", pool);
  EXPECT_EQ(with_fewer_axes(semantics, {.class_space = 0.5, .encoding = 0.5}, pool).outputs(), semantics.outputs());
}

}  // namespace
}  // namespace parsnets
