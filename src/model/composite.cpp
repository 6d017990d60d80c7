#include "model/composite.hpp"

#include <cblas.h>

#include <algorithm>
#include <vector>

namespace parsnets {

namespace {

/// Samples [begin, end): gathers the rows of each network, one GEMM per network, and adds the results back.
void compose_rows(MatrixView<const float> z, MatrixView<const std::uint16_t> open, std::size_t networks_count,
                  MatrixView<const float> networks, std::span<const float> bias, bool relu, MatrixView<float> out,
                  std::size_t begin, std::size_t end) {
  const std::size_t h = z.cols(), m = networks.cols();
  std::vector<std::vector<std::size_t>> members(networks_count);
  for (std::size_t r = begin; r < end; ++r) {
    std::copy(bias.begin(), bias.end(), out.row(r).begin());
    for (const auto i : open.row(r)) members[i].push_back(r);
  }
  Matrix<float> gathered(end - begin, h), result(end - begin, m);
  for (std::size_t i = 0; i < networks_count; ++i) {
    const auto& rows = members[i];
    if (rows.empty()) continue;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::copy(z.row(rows[r]).begin(), z.row(rows[r]).end(), gathered.row(r).begin());
      std::copy(networks.row(i * (h + 1)).begin(), networks.row(i * (h + 1)).end(), result.row(r).begin());
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(rows.size()), static_cast<int>(m),
                static_cast<int>(h), 1.0f, gathered.data(), static_cast<int>(h), networks.row(i * (h + 1) + 1).data(),
                static_cast<int>(m), 1.0f, result.data(), static_cast<int>(m));
    if (relu)
      for (float& v : MatrixView<float>(result.data(), rows.size(), m).values()) v = std::max(v, 0.0f);
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t j = 0; j < m; ++j) out(rows[r], j) += result(r, j);
  }
}

}  // namespace

Matrix<float> compose(MatrixView<const float> z, MatrixView<const std::uint16_t> open, std::size_t networks_count,
                      MatrixView<const float> networks, std::span<const float> bias, bool relu, ThreadPool& pool) {
  Matrix<float> out(z.rows(), networks.cols());
  // Large chunks keep the per-network GEMMs large; their bounds depend on n alone.
  const std::size_t grain = std::max<std::size_t>(256, std::min<std::size_t>(4096, (z.rows() + 7) / 8));
  pool.parallel_for(z.rows(), grain, [&](std::size_t begin, std::size_t end, std::size_t) {
    compose_rows(z, open, networks_count, networks, bias, relu, out.view(), begin, end);
  });
  return out;
}

}  // namespace parsnets
