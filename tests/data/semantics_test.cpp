#include "data/semantics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Matrix<double> table(std::vector<double> values, std::size_t cols) {
  Matrix<double> m(values.size() / cols, cols);
  std::copy(values.begin(), values.end(), m.data());
  return m;
}

}  // namespace

TEST(Semantics, MinusOneIsMissingOnAScaleFromZeroTo100) {
  auto m = table({0, 50, -1, 100}, 2);
  EXPECT_EQ(mark_missing(m.view()), 1u);
  EXPECT_TRUE(std::isnan(m(1, 0)));
}

TEST(Semantics, MinusOneIsAValueInSignedAndBinaryTables) {
  auto sign = table({-1, 1, 1, -1}, 2), embedding = table({-1, 3, -0.5, 2}, 2);
  EXPECT_EQ(mark_missing(sign.view()), 0u);
  EXPECT_EQ(mark_missing(embedding.view()), 0u);
}

TEST(Semantics, PoliciesFillOrRefuse) {
  const auto raw = table({1, 10, kNan, 20, 3, 30}, 2);
  const std::vector<std::string> classes{"a", "b", "c"}, attributes{"p", "q"};
  const auto mean = complete_semantics(raw.view(), MissingPolicy::attribute_mean, "f", "att", classes, attributes);
  EXPECT_EQ(mean.values(1, 0), 2.0f);
  EXPECT_EQ(mean.missing, 1u);
  EXPECT_EQ(complete_semantics(raw.view(), MissingPolicy::zero, "f", "att", classes, attributes).values(1, 0), 0.0f);
  try {
    complete_semantics(raw.view(), MissingPolicy::refuse, "f", "att", classes, attributes);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("class 'b', attribute 'p'"), std::string::npos) << e.what();
  }
}

TEST(Semantics, AnAttributeNoClassHasAndInfinitiesAreRefused) {
  const std::vector<std::string> classes{"a", "b"}, attributes{"p"};
  EXPECT_THROW(
      complete_semantics(table({kNan, kNan}, 1).view(), MissingPolicy::attribute_mean, "f", "att", classes, attributes),
      Error);
  EXPECT_THROW(complete_semantics(table({1, std::numeric_limits<double>::infinity()}, 1).view(),
                                  MissingPolicy::attribute_mean, "f", "att", classes, attributes),
               Error);
}

}  // namespace parsnets
