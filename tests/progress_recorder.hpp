#pragma once
// What a reader tells its observer, which may cancel it.

#include <cstdint>
#include <string>
#include <vector>

#include "parsnets/progress.hpp"

namespace parsnets::test {

struct ProgressRecorder final : ProgressObserver {
  /// Cancels at the event after so many.
  explicit ProgressRecorder(std::size_t events = SIZE_MAX) : cancel_after(events) {}
  bool on_progress(const ProgressEvent& event) override {
    done.push_back(event.done);
    stage = event.stage;
    unit = event.unit;
    total = event.total;
    return done.size() <= cancel_after;
  }

  std::size_t cancel_after;
  std::vector<std::uint64_t> done;
  std::string stage, unit;
  std::uint64_t total = 0;
};

}  // namespace parsnets::test
