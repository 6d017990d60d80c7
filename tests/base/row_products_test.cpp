#include "base/row_products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "base/rng.hpp"
#include "base/simd_levels.hpp"

namespace parsnets {
namespace {

struct Product {
  Matrix<float> a, b, turned, c;
  std::vector<float> start;
  std::vector<const float*> from;
  std::vector<float*> to;

  Product(std::size_t rows, std::size_t inner, std::size_t columns)
      : a(rows, inner), b(inner, columns), turned(columns, inner), c(rows, columns), start(columns) {
    Rng rng(rows * 1000 + inner * 10 + columns);
    for (auto* values : {&a, &b, &c})
      for (float& v : values->values()) v = static_cast<float>(rng.normal());
    for (float& v : start) v = static_cast<float>(rng.normal());
    for (std::size_t k = 0; k < inner; ++k)
      for (std::size_t j = 0; j < columns; ++j) turned(j, k) = b(k, j);
    for (std::size_t r = 0; r < rows; ++r) {
      from.push_back(a.row(r).data());
      to.push_back(c.row(r).data());
    }
  }
  double sum(std::size_t r, std::size_t j) const {
    double sum = 0;
    for (std::size_t k = 0; k < a.cols(); ++k) sum += static_cast<double>(a(r, k)) * b(k, j);
    return sum;
  }
  std::vector<float> result() const { return {c.values().begin(), c.values().end()}; }
};

const std::vector<std::tuple<std::size_t, std::size_t, std::size_t>> kShapes{{1, 1, 1},      {1, 70, 5},   {1, 33, 400},
                                                                             {2, 3, 17},     {5, 513, 64}, {6, 64, 149},
                                                                             {13, 1100, 70}, {67, 40, 3},  {4, 0, 9}};

}  // namespace

TEST(RowProducts, EqualTheDefinition) {
  Matrix<float> scratch(1, kProductScratch);
  for (const Simd simd : test::simd_levels())
    for (const auto& [rows, inner, columns] : kShapes) {
      const double error = 1e-5 * (1 + std::sqrt(static_cast<double>(inner)));
      for (const Into into : {Into::set, Into::add, Into::add_positive})
        for (const bool has_start : {false, true}) {
          Product p(rows, inner, columns);
          const std::vector<float> before = p.result();
          multiply_rows(p.from, inner, p.b.data(), columns, has_start ? p.start.data() : nullptr, into, p.to, simd);
          for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t j = 0; j < columns; ++j) {
              double expected = p.sum(r, j) + (has_start ? p.start[j] : 0);
              if (into == Into::add_positive) expected = std::max(0.0, expected);
              if (into != Into::set) expected += before[r * columns + j];
              ASSERT_NEAR(p.c(r, j), expected, error) << rows << " x " << inner << " x " << columns;
            }
        }
      Product p(rows, inner, columns);
      multiply_transposed(p.from, inner, p.turned.data(), columns, scratch.data(), p.to, 0, simd);
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t j = 0; j < columns; ++j) ASSERT_NEAR(p.c(r, j), p.sum(r, j), error);
    }
}

TEST(RowProducts, ARowHasTheSameBitsAloneAndWithOthersAndByEitherWay) {
  Matrix<float> scratch(1, kProductScratch);
  for (const Simd simd : test::simd_levels())
    for (const auto& [rows, inner, columns] : kShapes) {
      Product all(rows, inner, columns), turned(rows, inner, columns), alone(rows, inner, columns);
      multiply_rows(all.from, inner, all.b.data(), columns, nullptr, Into::set, all.to, simd);
      multiply_transposed(all.from, inner, all.turned.data(), columns, scratch.data(), turned.to, 0, simd);
      EXPECT_EQ(turned.result(), all.result());
      for (std::size_t r = 0; r < rows; ++r)
        multiply_rows(std::span(all.from).subspan(r, 1), inner, all.b.data(), columns, nullptr, Into::set,
                      std::span(alone.to).subspan(r, 1), simd);
      EXPECT_EQ(alone.result(), all.result());
      for (std::size_t r = 0; r < rows; ++r)
        multiply_transposed(std::span(all.from).subspan(r, 1), inner, all.turned.data(), columns, scratch.data(),
                            std::span(alone.to).subspan(r, 1), 0, simd);
      EXPECT_EQ(alone.result(), all.result());
    }
}

TEST(RowProducts, Avx2AndAvx512GiveTheSameBits) {
  if (best_simd() != Simd::avx512) GTEST_SKIP() << "without AVX-512";
  for (const auto& [rows, inner, columns] : kShapes) {
    Product narrow(rows, inner, columns), wide(rows, inner, columns);
    for (auto* p : {&narrow, &wide})
      multiply_rows(p->from, inner, p->b.data(), columns, p->start.data(), Into::add, p->to,
                    p == &wide ? Simd::avx512 : Simd::avx2);
    EXPECT_EQ(narrow.result(), wide.result());
  }
}

}  // namespace parsnets
