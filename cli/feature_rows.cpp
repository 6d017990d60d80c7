#include "feature_rows.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>

#include "base/file.hpp"
#include "data/folder.hpp"
#include "data/sample_set.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"
#include "temporary_folder.hpp"
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

/// An array that comes as standard input, of which `start` was read: through a file, which is mapped.
Matrix<float> read_piped_array(const std::string& start, const std::string& name, ProgressObserver* progress,
                               std::uint64_t memory_limit) {
  const TemporaryFolder folder;  // the mapping outlives it
  const auto file = folder / "input.npy";
  std::ofstream copy(file, std::ios::binary);
  copy << start;
  std::vector<char> piece(1u << 20);
  while (const std::size_t got = read_standard_input(piece.data(), piece.size(), progress))
    if (!copy.write(piece.data(), static_cast<std::streamsize>(got))) break;
  if (!copy.flush()) throw Error(ErrorCode::failure, "cannot write " + file.string() + ": " + std::strerror(errno));
  try {
    return read_npy_float({file, ""}, progress, MatrixPlace::within(memory_limit));
  } catch (const Error& error) {
    const BadInput parts = error.parts();
    if (parts.expected.empty()) throw;
    throw Error(BadInput{name, parts.field, parts.expected, parts.found, parts.advice});
  }
}

FeatureRows rows_of(const std::string& name, ReadBytes read) {
  const auto reader = std::make_shared<CsvRowReader>(name, std::move(read));
  return {name, 0, reader->cols(),
          [reader, block = std::make_shared<Matrix<float>>()](std::size_t count) -> MatrixView<const float> {
            *block = reader->next(count);
            return block->view();
          }};
}

FeatureRows rows_of(const std::string& name, Matrix<float> rows) {
  const auto array = std::make_shared<const Matrix<float>>(std::move(rows));
  return {name, array->rows(), array->cols(),
          [name, array, start = std::size_t{0}, last = std::size_t{0}](std::size_t count) mutable {
            const std::size_t some = std::min(count, array->rows() - start);
            release_rows(*array, start - last, last);
            last = some;
            const MatrixView<const float> block(array->data() + start * array->cols(), some, array->cols());
            std::vector<std::int32_t> all(some);
            std::iota(all.begin(), all.end(), 0);
            check_finite_rows(block, all, name, start);
            start += some;
            return block;
          }};
}

FeatureRows rows_of_standard_input(ProgressObserver* progress, std::uint64_t memory_limit) {
  const std::string name = "standard input";
  std::string start(kNpyMagic.size(), '\0');
  std::size_t got = 0;
  while (got < start.size()) {
    const std::size_t more = read_standard_input(start.data() + got, start.size() - got, progress);
    if (more == 0) break;
    got += more;
  }
  start.resize(got);
  if (start == kNpyMagic) return rows_of(name, read_piped_array(start, name, progress, memory_limit));
  for (const std::string_view other : {"PK\x03\x04", "MATLAB", "\x89HDF"})
    if (start.starts_with(other))
      throw Error(BadInput{name, "", "rows of CSV or a .npy", other[0] == 'P' ? "a .npz" : "a .mat",
                           "give the file by its name"});
  return rows_of(name, [start, progress](void* destination, std::size_t bytes) mutable {
    if (start.empty()) return read_standard_input(destination, bytes, progress);
    const std::size_t count = std::min(bytes, start.size());
    std::memcpy(destination, start.data(), count);
    start.erase(0, count);
    return count;
  });
}

}  // namespace

std::filesystem::path features_file(const std::filesystem::path& input) {
  if (!std::filesystem::is_directory(input)) return input;
  if (const auto file = find_one(input, "features", {".npy", ".npz", ".csv"})) return *file;
  if (const auto files = mat_features(input); files.size() == 1) return input / (files.front() + ".mat");
  throw Error(BadInput{input.string(), "", "features.npy, .npz or .csv, or one .mat with features, in the folder",
                       "none", "give the file of the features"});
}

FeatureRows feature_rows(const std::string& input, const std::optional<FeatureSource>& trained,
                         ProgressObserver* progress, std::uint64_t memory_limit) {
  if (input == "-") return rows_of_standard_input(progress, memory_limit);
  if (std::filesystem::path(input).extension() != ".csv")
    return rows_of(input, read_feature_input(input, trained, progress, memory_limit));
  require_same_source(trained, read_feature_source(input), input);
  const auto file = std::make_shared<InputFile>(input);
  return rows_of(input, [file](void* destination, std::size_t bytes) { return file->read_some(destination, bytes); });
}

}  // namespace parsnets::cli
