#include "model/scoring.hpp"

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"

namespace parsnets {

std::vector<float> squared_lengths(MatrixView<const float> rows) {
  std::vector<float> norms;
  norms.reserve(rows.rows());
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    double sum = 0;
    for (const float v : rows.row(r)) sum += static_cast<double>(v) * v;
    norms.push_back(static_cast<float>(sum));
  }
  return norms;
}

Matrix<float> similarities(Similarity kind, MatrixView<const float> f, MatrixView<const float> bank, ThreadPool& pool) {
  return similarities(kind, f, bank, kind == Similarity::dot ? std::vector<float>() : squared_lengths(bank), pool);
}

Matrix<float> similarities(Similarity kind, MatrixView<const float> f, MatrixView<const float> bank,
                           std::span<const float> nb, ThreadPool& pool) {
  Matrix<float> scores(f.rows(), bank.rows());
  multiply(pool, Trans::no, f, Trans::yes, bank, scores.view());
  if (kind == Similarity::dot) return scores;
  const auto nf = squared_lengths(f);
  for (std::size_t r = 0; r < scores.rows(); ++r)
    for (std::size_t c = 0; c < scores.cols(); ++c) {
      float& s = scores(r, c);
      if (kind == Similarity::euclidean)
        s = -std::sqrt(std::max(0.0f, nf[r] + nb[c] - 2 * s));
      else
        s = nf[r] > 0 && nb[c] > 0 ? s / (std::sqrt(nf[r]) * std::sqrt(nb[c])) : 0.0f;
    }
  return scores;
}

std::vector<double> similarity_terms(Similarity kind, std::span<const float> f, std::span<const float> a) {
  double nf = 0, na = 0;
  for (std::size_t j = 0; j < f.size(); ++j) {
    nf += static_cast<double>(f[j]) * f[j];
    na += static_cast<double>(a[j]) * a[j];
  }
  const double scale = kind != Similarity::cosine ? 1 : nf > 0 && na > 0 ? 1 / std::sqrt(nf * na) : 0;
  std::vector<double> terms(f.size());
  for (std::size_t j = 0; j < f.size(); ++j)
    terms[j] = kind == Similarity::euclidean ? -(static_cast<double>(f[j]) - a[j]) * (static_cast<double>(f[j]) - a[j])
                                             : scale * f[j] * a[j];
  return terms;
}

}  // namespace parsnets
