#pragma once
// Small random problems for the tests of the SVR solver, and their kernel in double.

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.hpp"
#include "solvers/svr.hpp"

namespace parsnets::test {

struct SvrProblem {
  Matrix<float> z, targets;
  Matrix<std::uint16_t> open;
  std::size_t networks = 0;
  GatedSamples samples() const { return {z.view(), open.view(), networks}; }
  std::size_t n() const { return z.rows(); }
  std::size_t m() const { return targets.cols(); }
};

inline SvrProblem make_problem(std::size_t n, std::size_t h, std::size_t networks, std::size_t k, std::size_t m,
                               std::uint64_t seed) {
  Rng rng(seed);
  SvrProblem p;
  p.networks = networks;
  p.z = Matrix<float>(n, h);
  p.open = Matrix<std::uint16_t>(n, k);
  p.targets = Matrix<float>(n, m);
  Matrix<float> w(h, m);
  for (float& v : w.values()) v = static_cast<float>(rng.normal());
  for (std::size_t i = 0; i < n; ++i) {
    for (float& v : p.z.row(i)) v = static_cast<float>(rng.normal() / std::sqrt(static_cast<double>(h)));
    auto gates = rng.permutation(networks);
    gates.resize(k);
    std::sort(gates.begin(), gates.end());
    for (std::size_t j = 0; j < k; ++j) p.open(i, j) = static_cast<std::uint16_t>(gates[j]);
    for (std::size_t j = 0; j < m; ++j) {
      double v = 0.4 * rng.normal() + 0.3 * static_cast<double>(j) + (gates[0] % 2 == 0 ? 0.5 : 0.0);
      for (std::size_t c = 0; c < h; ++c) v += p.z(i, c) * w(c, j);
      p.targets(i, j) = static_cast<float>(v);
    }
  }
  return p;
}

inline Matrix<double> kernel_of(const SvrProblem& p) {
  Matrix<double> t(p.n(), p.n());
  for (std::size_t i = 0; i < p.n(); ++i)
    for (std::size_t j = 0; j < p.n(); ++j) {
      double dot = 1;
      for (std::size_t c = 0; c < p.z.cols(); ++c) dot += static_cast<double>(p.z(i, c)) * p.z(j, c);
      int shared = 0;
      for (std::uint16_t a : p.open.row(i))
        for (std::uint16_t b : p.open.row(j)) shared += a == b;
      t(i, j) = dot * shared;
    }
  return t;
}

// The objectives as the header states them, from β and bias alone.
inline double primal_of(const SvrProblem& p, const SvrOptions& o, const SvrResult& r) {
  const Matrix<double> t = kernel_of(p);
  double total = 0;
  for (std::size_t j = 0; j < p.m(); ++j)
    for (std::size_t i = 0; i < p.n(); ++i) {
      double f = 0;
      for (std::size_t l = 0; l < p.n(); ++l) f += t(i, l) * r.beta(l, j);
      total += 0.5 * r.beta(i, j) * f + o.c * std::max(0.0, std::fabs(p.targets(i, j) - f - r.bias[j]) - o.epsilon);
    }
  return total;
}

}  // namespace parsnets::test
