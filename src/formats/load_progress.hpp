#pragma once
// Progress of reading a large file, in megabytes; also where a reader notices that it was cancelled.

#include <cstdint>
#include <filesystem>
#include <string>

#include "parsnets/progress.hpp"

namespace parsnets {

class LoadProgress {
 public:
  /// `bytes`: how many are going to be read in all.
  LoadProgress(ProgressObserver* observer, const std::filesystem::path& file, std::uint64_t bytes)
      : observer_(observer), stage_("load " + file.filename().string()), bytes_(bytes) {
    tell();
  }

  /// Throws Error(cancelled) when the observer says so; asks it every 8 MB and at the end.
  void advance(std::uint64_t bytes) {
    done_ += bytes;
    if (done_ - told_ < kStep && done_ < bytes_) return;
    tell();
  }

 private:
  static constexpr std::uint64_t kStep = 8u << 20, kMegabyte = 1'000'000;

  void tell() {
    told_ = done_;
    report(observer_, {stage_, done_ / kMegabyte, bytes_ / kMegabyte, "MB"});
  }

  ProgressObserver* observer_;
  std::string stage_;
  std::uint64_t bytes_, done_ = 0, told_ = 0;
};

}  // namespace parsnets
