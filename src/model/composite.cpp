#include "model/composite.hpp"

#include <algorithm>

#include "base/row_products.hpp"

namespace parsnets {

void add_networks(const NetworkWeights& networks, std::span<const float* const> z, MatrixView<const std::uint16_t> open,
                  GroupRoom& room, std::span<float* const> f) {
  const std::size_t m = networks.values.cols(), rows_of_one = networks.values.rows() / networks.count;
  room.first.assign(networks.count + 1, 0);
  for (const std::uint16_t i : open.values()) ++room.first[i + 1];
  for (std::size_t i = 0; i < networks.count; ++i) room.first[i + 1] += room.first[i];
  room.next = room.first;
  room.inputs.resize(open.size());
  room.outputs.resize(open.size());
  for (std::size_t r = 0; r < open.rows(); ++r)
    for (const std::uint16_t i : open.row(r)) {
      const std::size_t place = room.next[i]++;
      room.inputs[place] = z[r];
      room.outputs[place] = f[r];
    }
  for (std::size_t i = 0; i < networks.count; ++i) {
    const std::size_t first = room.first[i], count = room.first[i + 1] - first;
    const float* bias = networks.values.row(i * rows_of_one).data();
    multiply_rows({room.inputs.data() + first, count}, rows_of_one - 1, bias + m, m, bias,
                  networks.relu ? Into::add_positive : Into::add, {room.outputs.data() + first, count});
  }
}

Matrix<float> compose(MatrixView<const float> z, MatrixView<const std::uint16_t> open, std::size_t networks_count,
                      MatrixView<const float> networks, std::span<const float> bias, bool relu, ThreadPool& pool) {
  Matrix<float> out(z.rows(), networks.cols());
  // Large chunks read each network for many rows.
  const std::size_t grain = std::max<std::size_t>(256, std::min<std::size_t>(4096, (z.rows() + 7) / 8));
  pool.parallel_for(z.rows(), grain, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::vector<const float*> inputs;
    std::vector<float*> outputs;
    for (std::size_t r = begin; r < end; ++r) {
      std::ranges::copy(bias, out.row(r).begin());
      inputs.push_back(z.row(r).data());
      outputs.push_back(out.row(r).data());
    }
    GroupRoom room;
    add_networks({networks, networks_count, relu}, inputs, {open.row(begin).data(), end - begin, open.cols()}, room,
                 outputs);
  });
  return out;
}

}  // namespace parsnets
