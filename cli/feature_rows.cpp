#include "feature_rows.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/file.hpp"
#include "data/sample_set.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"
#include "terminal.hpp"

namespace parsnets::cli {

namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// At most `bytes` of standard input. Waits in short turns: a Ctrl-C just before read() would not end it.
std::size_t read_standard_input(void* destination, std::size_t bytes, ProgressObserver* progress) {
  for (;;) {
    if (interrupted()) report(progress, {"read", 0, 0, "samples"});  // throws
    pollfd waiting{STDIN_FILENO, POLLIN, 0};
    if (::poll(&waiting, 1, 100) <= 0) continue;
    const ssize_t got = ::read(STDIN_FILENO, destination, bytes);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR)
      throw Error(BadInput{"standard input", "", "readable input", std::strerror(errno), "check where it comes from"});
  }
}

/// A file of its own, removed with this object.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::error_code none;
    const auto folder = std::filesystem::temp_directory_path(none);
    path_ = ((none ? std::filesystem::path("/tmp") : folder) / "parsnets-XXXXXX").string();
    fd_ = ::mkstemp(path_.data());
    if (fd_ < 0) throw Error(ErrorCode::failure, "cannot write " + path_ + ": " + std::strerror(errno));
  }
  ~TemporaryFile() {
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  void write(const char* data, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t put = ::write(fd_, data + done, bytes - done);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) throw Error(ErrorCode::failure, "cannot write " + path_ + ": " + std::strerror(errno));
      done += static_cast<std::size_t>(put);
    }
  }

 private:
  std::string path_;
  int fd_ = -1;
};

std::function<MatrixView<const float>(std::size_t)> rows_of(std::shared_ptr<CsvRowReader> reader) {
  return [reader, block = std::make_shared<Matrix<float>>()](std::size_t count) -> MatrixView<const float> {
    *block = reader->next(count);
    return block->view();
  };
}

}  // namespace

FeatureRows::FeatureRows(const std::string& input, const std::optional<FeatureSource>& trained,
                         ProgressObserver* progress, std::uint64_t memory_limit)
    : name_(input) {
  const std::string ending = std::filesystem::path(input).extension().string();
  if (input == "-") {
    name_ = "standard input";
    std::string start(kNpyMagic.size(), '\0');
    std::size_t got = 0;
    while (got < start.size()) {
      const std::size_t more = read_standard_input(start.data() + got, start.size() - got, progress);
      if (more == 0) break;
      got += more;
    }
    start.resize(got);
    if (start == kNpyMagic) {
      TemporaryFile copy;  // an array is mapped; the mapping outlives the name
      copy.write(start.data(), start.size());
      std::vector<char> piece(1u << 20);
      while ((got = read_standard_input(piece.data(), piece.size(), progress)) > 0) copy.write(piece.data(), got);
      try {
        hand_out(read_npy_float({copy.path(), ""}, progress, MatrixPlace::within(memory_limit)));
      } catch (const Error& error) {
        const BadInput parts = error.parts();
        if (parts.expected.empty()) throw;
        throw Error(BadInput{name_, parts.field, parts.expected, parts.found, parts.advice});
      }
      return;
    }
    for (const std::string_view other : {"PK\x03\x04", "MATLAB", "\x89HDF"})
      if (start.starts_with(other))
        throw Error(BadInput{name_, "", "rows of CSV or a .npy", other[0] == 'P' ? "a .npz" : "a .mat",
                             "give the file by its name"});
    const auto read = [start, progress](void* destination, std::size_t bytes) mutable {
      if (start.empty()) return read_standard_input(destination, bytes, progress);
      const std::size_t count = std::min(bytes, start.size());
      std::memcpy(destination, start.data(), count);
      start.erase(0, count);
      return count;
    };
    const auto reader = std::make_shared<CsvRowReader>(name_, read);
    cols_ = reader->cols();
    next_ = rows_of(reader);
  } else if (ending == ".csv") {
    require_same_source(trained, read_feature_source(input), name_);
    const auto file = std::make_shared<InputFile>(input);
    const auto reader = std::make_shared<CsvRowReader>(
        name_, [file](void* destination, std::size_t bytes) { return file->read_some(destination, bytes); });
    cols_ = reader->cols();
    next_ = rows_of(reader);
  } else {
    hand_out(read_feature_input(input, trained, progress, memory_limit));
  }
}

FeatureRows::FeatureRows(std::unique_ptr<PhotoRows> photos)
    : name_(photos->network()), total_(photos->total()), cols_(photos->cols()), photos_(std::move(photos)) {
  next_ = [this](std::size_t count) { return photos_->next(count); };
}

void FeatureRows::hand_out(Matrix<float> rows) {
  const auto array = std::make_shared<const Matrix<float>>(std::move(rows));
  total_ = array->rows();
  cols_ = array->cols();
  next_ = [this, array, start = std::size_t{0}, last = std::size_t{0}](std::size_t count) mutable {
    const std::size_t some = std::min(count, array->rows() - start);
    release_rows(*array, start - last, last);
    last = some;
    const MatrixView<const float> block(array->data() + start * cols_, some, cols_);
    std::vector<std::int32_t> all(some);
    std::iota(all.begin(), all.end(), 0);
    check_finite_rows(block, all, name_, start);
    start += some;
    return block;
  };
}

MatrixView<const float> FeatureRows::next(std::size_t count) { return next_(count); }

std::span<const ReadImage> FeatureRows::images() const {
  return photos_ ? photos_->images() : std::span<const ReadImage>();
}

std::span<const UnreadableImage> FeatureRows::unreadable() const {
  return photos_ ? photos_->unreadable() : std::span<const UnreadableImage>();
}

double FeatureRows::decoding_bytes() const { return photos_ ? photos_->decoding_bytes() : 0; }

}  // namespace parsnets::cli
