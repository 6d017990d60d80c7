#pragma once
// Householder reflections of rows, applied in blocks, so that most of the work is matrix products: what QR and the
// tridiagonal form are made of (Golub and Van Loan, section 5.2.3: H₀H₁⋯ = I − VᵀTV, the reflections being rows of V).

#include <cstddef>
#include <span>
#include <vector>

#include "base/linalg.hpp"

namespace parsnets {

constexpr std::size_t kReflectionBlock = 32;

/// H = I − factor·vvᵀ with v₀ = 1, so that H·x is `value` in its first place and 0 in the others. x becomes v.
struct Reflection {
  double factor = 0, value = 0;
};
Reflection make_reflection(std::span<double> x);

/// Which end of H₀H₁⋯ comes first to a row that is multiplied from the left.
enum class Order { first, last };

/// Rows y (`rows` x n at `y`) become y·H₀H₁⋯, or y·⋯H₁H₀. `v` has a reflection in each of its rows, with zeros in
/// front.
void apply_reflections(ThreadPool* pool, Order order, std::size_t n, std::span<const double> factors, Factor<double> v,
                       std::size_t rows, double* y, std::size_t stride);

/// Σ a·b, in four independent sums.
double dot(std::span<const double> a, std::span<const double> b);

}  // namespace parsnets
