#include "images/partial_features.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json_file.hpp"
#include "data/feature_source.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "parsnets extraction 2\n";
constexpr std::string_view kEarlierFirstLine = "parsnets extraction 1\n";  // told photographs apart by size and time
constexpr std::size_t kDigits = 64;                                        // of SHA-256
constexpr std::uint32_t kMostName = 65536;
constexpr std::uint64_t kMostHeader = 65536;

/// Before the features of a record; its name follows.
struct RecordStart {
  std::uint32_t name_length;
  std::uint32_t zero = 0;
  std::array<char, kDigits> sha256{};
};

std::uint32_t checksum_of(const RecordStart& start, const std::string& name, std::span<const float> features) {
  auto sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(&start), sizeof start);
  sum = ::crc32_z(sum, reinterpret_cast<const Bytef*>(name.data()), name.size());
  return static_cast<std::uint32_t>(
      ::crc32_z(sum, reinterpret_cast<const Bytef*>(features.data()), features.size_bytes()));
}

/// Whether all of it could be read.
bool read_at(int fd, std::uint64_t offset, void* data, std::size_t bytes) {
  auto* to = static_cast<char*>(data);
  while (bytes > 0) {
    const auto got = ::pread(fd, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

void write_at(int fd, std::uint64_t offset, std::string_view bytes, const fs::path& file) {
  while (!bytes.empty()) {
    const auto put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0)
      throw Error(ErrorCode::failure, fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
    offset += static_cast<std::uint64_t>(put);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

/// The first file that makes a folder a data set; attributes alone do not.
std::optional<std::string> file_of_a_data_set(const fs::path& folder) {
  for (const char* stem : {"features", "labels"})
    for (const char* ending : {".npy", ".npz", ".csv"})
      if (fs::exists(folder / (std::string(stem) + ending))) return std::string(stem) + ending;
  for (const char* name : {"image_files.csv", "split.json", kExtractionFile})
    if (fs::exists(folder / name)) return name;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.path().extension() == ".mat") return entry.path().filename().string();
  return std::nullopt;
}

void require_no_data_set(const fs::path& folder) {
  if (const auto found = file_of_a_data_set(folder))
    throw Error(ErrorCode::usage, fmt::format("{} has a data set already ({}): choose another folder, or remove it",
                                              folder.string(), *found));
}

/// Creates a folder. Returns those that it made, the deepest first.
std::vector<fs::path> make_folder(const fs::path& folder) {
  std::vector<fs::path> made;
  std::error_code error;
  for (fs::path one = fs::absolute(folder).lexically_normal(); !fs::exists(one, error); one = one.parent_path())
    if (one.has_filename()) made.push_back(one);
  fs::create_directories(folder, error);
  return made;
}

void begin_file(const fs::path& folder, const fs::path& file, std::vector<fs::path>& made) {
  require_no_data_set(folder);
  if (made.empty()) made = make_folder(folder);
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) throw Error(ErrorCode::failure, fmt::format("cannot create {}: {}", file.string(), std::strerror(errno)));
  ::close(fd);
}

std::unique_ptr<FileLock> hold(const fs::path& folder, const fs::path& file, std::vector<fs::path>& made,
                               ProgressObserver* progress) {
  for (;;) {
    if (!fs::exists(file)) begin_file(folder, file, made);
    try {
      return std::make_unique<FileLock>(file, progress);
    } catch (const Error& error) {  // another process may have completed the data set while this one waited
      if (error.code() != ErrorCode::bad_input || fs::exists(file)) throw;
    }
  }
}

}  // namespace

PartialFeatures::PartialFeatures(const fs::path& folder, const FeatureSource& source, ProgressObserver* progress)
    : file_(folder / kPartialExtractionFile),
      dimensions_(source.dimensions),
      lock_(hold(folder, file_, made_, progress)) {
  fd_ = ::open(file_.c_str(), O_RDWR | O_CLOEXEC);
  if (fd_ < 0)
    throw Error(BadInput{file_.string(), "", "a file that can be changed", std::strerror(errno), "check permissions"});
  try {
    struct stat state {};
    if (::fstat(fd_, &state) != 0 || !S_ISREG(state.st_mode))
      throw Error(BadInput{file_.string(), "", "an unfinished extraction", "no regular file", "remove it"});
    read_header(source, progress);
    read_entries();
    if (entries_.empty()) {  // another process may have completed the data set before this one began its file
      try {
        require_no_data_set(folder);
      } catch (...) {
        remove();
        throw;
      }
    }
    const std::uint64_t size = fs::file_size(file_);
    if (size > end_)
      report_message(progress, fmt::format("{}: {} bytes at its end are damaged; these photographs are read again",
                                           file_.string(), size - end_));
    if (::ftruncate(fd_, static_cast<off_t>(end_)) != 0)
      throw Error(ErrorCode::failure, fmt::format("cannot change {}: {}", file_.string(), std::strerror(errno)));
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

PartialFeatures::~PartialFeatures() {
  ::close(fd_);
  std::error_code ignored;
  if (!entries_.empty()) return;
  fs::remove(file_, ignored);  // nothing to continue from
  for (const auto& folder : made_)
    if (!fs::remove(folder, ignored)) return;  // not empty
}

void PartialFeatures::read_header(const FeatureSource& source, ProgressObserver* progress) {
  const std::string header = std::string(kFirstLine) + to_json(source).dump() + "\n";
  std::string found(std::min<std::uint64_t>(fs::file_size(file_), kMostHeader), '\0');
  if (!read_at(fd_, 0, found.data(), found.size()))
    throw Error(BadInput{file_.string(), "", "a readable file", std::strerror(errno), "remove it"});
  if (found.starts_with(kEarlierFirstLine)) {
    report_message(progress, fmt::format("{}: by an earlier version; its photographs are read again", file_.string()));
    if (::ftruncate(fd_, 0) != 0)
      throw Error(ErrorCode::failure, fmt::format("cannot change {}: {}", file_.string(), std::strerror(errno)));
    found.clear();
  }
  if (header.starts_with(found)) {  // new, or interrupted before its first photograph
    write_at(fd_, 0, header, file_);
    end_ = header.size();
    return;
  }
  const auto line_end = found.find('\n', kFirstLine.size());
  if (!found.starts_with(kFirstLine) || line_end == std::string::npos)
    throw Error(BadInput{file_.string(), "", "an unfinished extraction", "a damaged file", "remove it"});
  const std::string_view json = std::string_view(found).substr(kFirstLine.size(), line_end - kFirstLine.size());
  const FeatureSource begun = feature_source_from_json(parse_json(json, file_.string()), file_.string());
  if (!begun.makes_features_of(source))
    throw Error(BadInput{file_.string(), "", "an unfinished extraction by " + describe(source), describe(begun),
                         "finish that one first, remove the file, or write to another folder"});
  end_ = line_end + 1;
}

void PartialFeatures::read_entries() {
  const std::uint64_t size = fs::file_size(file_);
  std::vector<float> features(dimensions_);
  const std::size_t bytes = features.size() * sizeof(float);
  for (;;) {
    RecordStart start{};
    std::uint32_t sum = 0;
    if (!read_at(fd_, end_, &start, sizeof start) || start.name_length > kMostName) return;
    const std::uint64_t whole = sizeof start + start.name_length + bytes + sizeof sum;
    if (whole > size - end_) return;
    std::string name(start.name_length, '\0');
    const std::uint64_t offset = end_ + sizeof start + name.size();
    if (!read_at(fd_, end_ + sizeof start, name.data(), name.size()) || !read_at(fd_, offset, features.data(), bytes) ||
        !read_at(fd_, offset + bytes, &sum, sizeof sum))
      return;
    if (sum != checksum_of(start, name, features)) return;
    entries_[name] = {{start.sha256.data(), kDigits}, offset};
    end_ += whole;
  }
}

bool PartialFeatures::has(const std::string& name, const std::string& sha256) const {
  const auto found = entries_.find(name);
  return found != entries_.end() && found->second.sha256 == sha256;
}

void PartialFeatures::append(const std::string& name, const std::string& sha256, std::span<const float> features) {
  RecordStart start{static_cast<std::uint32_t>(name.size())};
  std::copy_n(sha256.begin(), std::min(kDigits, sha256.size()), start.sha256.begin());
  const std::uint32_t sum = checksum_of(start, name, features);
  std::string record(reinterpret_cast<const char*>(&start), sizeof start);
  record += name;
  record.append(reinterpret_cast<const char*>(features.data()), features.size_bytes());
  record.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  write_at(fd_, end_, record, file_);
  entries_[name] = {{start.sha256.data(), kDigits}, end_ + sizeof start + name.size()};
  end_ += record.size();
}

void PartialFeatures::read(const std::string& name, std::span<float> features) const {
  if (!read_at(fd_, entries_.at(name).offset, features.data(), features.size_bytes()))
    throw Error(ErrorCode::failure, fmt::format("cannot read {}: {}", file_.string(), std::strerror(errno)));
}

void PartialFeatures::remove() {
  std::error_code ignored;
  fs::remove(file_, ignored);
}

}  // namespace parsnets
