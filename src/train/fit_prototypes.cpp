#include "train/fit_prototypes.hpp"

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "data/rows.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

void to_unit_length(std::span<double> v) {
  double squares = 0;
  for (const double x : v) squares += x * x;
  if (squares > 0)
    for (double& x : v) x /= std::sqrt(squares);
}

}  // namespace

Prototypes fit_prototypes(MatrixView<const float> f, std::span<const std::int32_t> labels,
                          MatrixView<const float> class_vectors, std::span<const float> centre, double width,
                          double lambda) {
  if (!(width > 0) || !(lambda > 0)) throw Error(ErrorCode::usage, "prototypes: expected a positive width and lambda");
  const auto classes = distinct({labels.begin(), labels.end()});
  const std::size_t count = classes.size(), m = f.cols();
  Matrix<double> residual(count, m, 0.0), unit(count, m);
  std::vector<double> row(m);
  for (std::size_t l = 0; l < f.rows(); ++l) {
    for (std::size_t j = 0; j < m; ++j) row[j] = static_cast<double>(f(l, j)) - (centre.empty() ? 0.0f : centre[j]);
    to_unit_length(row);
    const auto slot =
        static_cast<std::size_t>(std::lower_bound(classes.begin(), classes.end(), labels[l]) - classes.begin());
    for (std::size_t j = 0; j < m; ++j) residual(slot, j) += row[j];
  }
  for (std::size_t s = 0; s < count; ++s) {
    const auto b = class_vectors.row(static_cast<std::size_t>(classes[s]));
    std::copy(b.begin(), b.end(), unit.row(s).begin());
    to_unit_length(unit.row(s));
    to_unit_length(residual.row(s));
    for (std::size_t j = 0; j < m; ++j) residual(s, j) -= unit(s, j);
  }
  ThreadPool caller(1);
  Matrix<double> kernel(count, count);
  multiply(caller, Trans::no, unit.view(), Trans::yes, unit.view(), kernel.view());
  for (double& k : kernel.values()) k = std::exp((k - 1) / (width * width));
  Cholesky(std::move(kernel), lambda).solve(caller, residual.view());
  return {to_float(unit.view()), to_float(residual.view()), width};
}

}  // namespace parsnets
