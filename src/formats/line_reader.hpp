#pragma once
// The lines of a large text file.

#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "formats/load_progress.hpp"

namespace parsnets {

/// Hands out the lines of a file one after the other, without their line ends and without a byte-order mark. Reads
/// pieces of about 1 MB.
class LineReader {
 public:
  LineReader(InputFile& file, LoadProgress* progress) : file_(file), progress_(progress), buffer_(1u << 20) {
    file_.seek(0);
    fill();
    if (end_ >= 3 && std::memcmp(buffer_.data(), "\xef\xbb\xbf", 3) == 0) begin_ = 3;
  }

  /// False at the end. The view is valid until the next call. A last line without a line end counts.
  bool next(std::string_view& line) {
    std::size_t searched = begin_;
    const char* found = nullptr;
    for (;;) {
      found = static_cast<const char*>(std::memchr(buffer_.data() + searched, '\n', end_ - searched));
      if (found != nullptr) break;
      const std::size_t length = end_ - begin_;
      if (!fill()) break;
      searched = begin_ + length;
    }
    if (found == nullptr && begin_ == end_) return false;
    const std::size_t stop = found != nullptr ? static_cast<std::size_t>(found - buffer_.data()) : end_;
    line = std::string_view(buffer_.data() + begin_, stop - begin_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    begin_ = found != nullptr ? stop + 1 : end_;
    return true;
  }

 private:
  // Moves the unfinished line to the front and reads on behind it; false when nothing more came.
  bool fill() {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
    const std::size_t got = file_.read_some(buffer_.data() + end_, buffer_.size() - end_);
    end_ += got;
    if (progress_ != nullptr) progress_->advance(got);
    return got > 0;
  }

  InputFile& file_;
  LoadProgress* progress_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace parsnets
