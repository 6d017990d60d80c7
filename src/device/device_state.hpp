#pragma once
// What a DeviceModel holds, for the sources of its class and of DeviceBank.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "device/device_reader.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "parsnets_rt.h"

namespace parsnets {

struct DeviceModel::State {
  std::vector<std::byte> file;
  std::string name;
  DeviceInfo info;
  pnrt_model runtime;

  void check_features(MatrixView<const float> x) const {
    if (x.cols() != runtime.features)
      throw Error(BadInput{"input", "features", fmt::format("{} per sample, as in training", runtime.features),
                           std::to_string(x.cols()), "use the features of the training data"});
  }

  /// Calls `run(row of x, row of out, work, its bytes)` for every row, with working memory for the bank.
  template <class Run>
  Matrix<float> each_row(MatrixView<const float> x, std::size_t width, const pnrt_bank* bank, ThreadPool& pool,
                         const Run& run) const {
    check_features(x);
    Matrix<float> out(x.rows(), width);
    pool.parallel_for(x.rows(), 64, [&](std::size_t begin, std::size_t end, std::size_t) {
      std::vector<std::uint32_t> work((pnrt_work_bytes(&runtime, bank) + 3) / 4);
      for (std::size_t r = begin; r < end; ++r)
        if (const pnrt_status status = run(x.row(r).data(), out.row(r).data(), work.data(), work.size() * 4);
            status != PNRT_OK)
          throw Error(BadInput{name, fmt::format("sample {}", r), "a prediction", pnrt_status_text(status),
                               "correct the input, or export the model again"});
    });
    return out;
  }

  /// 1: the row is of none of the classes. `known_scores`: n values or none.
  std::vector<std::uint8_t> unknown(MatrixView<const float> x, Among among, const pnrt_bank* bank, ThreadPool& pool,
                                    std::span<float> known_scores) const {
    if (runtime.rejection == nullptr)
      throw Error(ErrorCode::usage, fmt::format("{}: {}", name, pnrt_status_text(PNRT_NO_REJECTION)));
    const pnrt_query query{1, static_cast<std::uint32_t>(among)};
    const Matrix<float> verdicts =
        each_row(x, 2, bank, pool, [&](const float* row, float* out, void* work, std::size_t bytes) {
          pnrt_match best;
          pnrt_verdict verdict;
          const pnrt_status status = pnrt_classify(&runtime, bank, row, &query, &best, 1, &verdict, work, bytes);
          if (status != PNRT_OK) return status;
          out[0] = verdict.unknown != 0 ? 1.0f : 0.0f;
          out[1] = verdict.known_score;
          return status;
        });
    std::vector<std::uint8_t> out;
    for (std::size_t r = 0; r < verdicts.rows(); ++r) {
      out.push_back(verdicts(r, 0) != 0 ? 1 : 0);
      if (!known_scores.empty()) known_scores[r] = verdicts(r, 1);
    }
    return out;
  }
};

}  // namespace parsnets
