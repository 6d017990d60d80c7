#pragma once
// The scores of a device model, some rows at a time.

#include "eval/score_source.hpp"
#include "parsnets/device.hpp"

namespace parsnets {

/// Refers to everything it is given. The runtime scores one row after the other, so that blocks change no bit.
inline ScoreSource source_of(const DeviceModel& model, MatrixView<const float> x, ThreadPool& pool) {
  return {
      x.rows(), model.class_names().size(), [&model, x, &pool](const ScoreVisitor& visit) {
        constexpr std::size_t kRows = 512;
        for (std::size_t first = 0; first < x.rows(); first += kRows)
          visit(first, model.scores({x.row(first).data(), std::min(kRows, x.rows() - first), x.cols()}, pool).view());
      }};
}

}  // namespace parsnets
