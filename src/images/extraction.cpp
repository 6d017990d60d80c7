#include "images/extraction.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "base/json_file.hpp"
#include "base/machine.hpp"
#include "base/text.hpp"
#include "data/feature_source.hpp"
#include "data/folder.hpp"
#include "data/semantics.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "images/features_of_image.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

constexpr const char* kAttributes = "attributes.csv";
constexpr const char* kSplit = "split.json";

/// What became of the images of a list.
struct ReadImages {
  std::vector<std::string> sha256;      ///< of each; empty: it could not be read
  std::map<std::size_t, Error> errors;  ///< why, by number
  std::size_t continued = 0;            ///< features of an earlier run
};

/// Fills `partial` with every image that can be read.
void read_all(const ImageReader& reader, const ImageList& list, PartialFeatures& partial, ReadImages& read,
              ThreadPool& pool, ProgressObserver* progress) {
  std::mutex one_at_a_time;
  read.sha256.resize(list.images.size());
  const auto told = [&](std::size_t done) {
    report(progress, {"extract features", done, list.images.size(), "photographs"});
  };
  const auto known = [&](std::size_t i, std::span<const std::byte> bytes) {
    read.sha256[i] = sha256_of(bytes);
    const std::lock_guard lock(one_at_a_time);
    read.continued += partial.had(read.sha256[i]) ? 1 : 0;
    return partial.has(read.sha256[i]);
  };
  const auto taken = [&](std::size_t i, const ImageFeatures& features) {
    const std::lock_guard lock(one_at_a_time);
    if (features.error)
      read.errors.emplace(i, *features.error);
    else if (!partial.has(read.sha256[i]))
      partial.append(read.sha256[i], features.values);
  };
  read_images(reader, list.images, pool, told, taken, known);
}

/// The classes of the data set: those of its table, or those of the images.
std::vector<std::string> classes_of(const fs::path& attributes, const ImageList& list) {
  if (!attributes.empty()) {
    check_attributes(attributes, list);
    return table_class_names(attributes);
  }
  for (const auto& name : list.class_names)
    if (double number = 0; parse_number(name, number))
      throw Error(BadInput{std::ranges::find(list.images, name, &ListedImage::class_name)->file.string(), "class",
                           "class names that are no numbers, or a table of attributes", "'" + name + "'",
                           "rename the class, or use " + option_name("attributes")});
  return list.class_names;
}

void write_column(const fs::path& file, std::vector<std::string> header, const std::vector<std::string>& values) {
  CsvTable table{std::move(header), {}};
  for (const auto& value : values) table.rows.push_back({value});
  write_csv(file, table);
}

void write_labels(const fs::path& folder, const std::vector<std::string>& labels,
                  const std::vector<std::string>& classes, bool numbered) {
  // An interrupted run without the table of classes, or with it, may have left the other file.
  fs::remove(folder / (numbered ? "labels.csv" : "labels.npy"));
  if (!numbered) return write_column(folder / "labels.csv", {}, labels);
  const auto places = places_by_name(classes);
  std::vector<std::int32_t> numbers;
  for (const auto& label : labels) numbers.push_back(static_cast<std::int32_t>(places.at(label)));
  write_npy(folder / "labels.npy", numbers);
}

constexpr std::string_view kFirstLine = "parsnets extraction 3\n";
constexpr std::size_t kDigits = 64;  // of SHA-256, before the features of a record
constexpr std::uint64_t kMostHeader = 65536;

std::uint32_t checksum_of(std::string_view sha256, std::span<const float> features) {
  const auto sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(sha256.data()), sha256.size());
  return static_cast<std::uint32_t>(
      ::crc32_z(sum, reinterpret_cast<const Bytef*>(features.data()), features.size_bytes()));
}

Error failed_to(const char* what, const fs::path& file) {
  return Error(ErrorCode::failure, fmt::format("cannot {} {}: {}", what, file.string(), std::strerror(errno)));
}

/// The first file that makes a folder a data set; attributes alone do not.
std::optional<std::string> file_of_a_data_set(const fs::path& folder) {
  for (const char* stem : {"features", "labels"})
    for (const char* ending : {".npy", ".npz", ".csv"})
      if (fs::exists(folder / (std::string(stem) + ending))) return std::string(stem) + ending;
  for (const char* name : {"image_files.csv", kExtractionFile})
    if (fs::exists(folder / name)) return name;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.path().extension() == ".mat") return entry.path().filename().string();
  return fs::exists(folder / kSplit) ? std::optional<std::string>(kSplit) : std::nullopt;
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

std::unique_ptr<FileLock> hold(const fs::path& file, bool is_store, std::vector<fs::path>& made,
                               ProgressObserver* progress) {
  for (;;) {
    if (!fs::exists(file)) {
      if (!is_store) require_no_data_set(file.parent_path());
      if (made.empty()) made = make_folder(file.parent_path());
      if (!std::ofstream(file, std::ios::app)) throw failed_to("create", file);
    }
    try {
      return std::make_unique<FileLock>(file, progress);
    } catch (const Error& error) {  // another process may have completed the data set while this one waited
      if (error.code() != ErrorCode::bad_input || fs::exists(file)) throw;
    }
  }
}

}  // namespace

bool holds_data_set(const fs::path& folder) {
  const auto found = file_of_a_data_set(folder);
  return found && *found != kSplit;
}

void check_attributes(const fs::path& table, const ImageList& list) {
  if (table.extension() != ".csv")
    throw Error(BadInput{table.string(), "", "a .csv file with a column 'class' and the attributes",
                         "a file with another ending", "write it as CSV"});
  Dataset data;
  if (read_csv(table, true).header.size() > 1)  // names alone go with a table of vectors
    read_class_table(table, "attributes", MissingPolicy::attribute_mean, data, nullptr);
  const auto described = table_class_names(table);
  const std::set<std::string> known(described.begin(), described.end());
  std::vector<std::string> missing;
  std::ranges::set_difference(list.class_names, known, std::back_inserter(missing));
  if (!missing.empty())
    throw Error(BadInput{
        table.string(), "class", "a row for every class of the photographs", "none for " + quoted_list(missing),
        "add the rows, or name the classes as the table does" + did_you_mean(missing.front(), described)});
}

Extraction extract_features(Backbone& backbone, const FeatureSource& source, const ImageList& list,
                            const fs::path& folder, const ExtractionOptions& options, ThreadPool& pool,
                            ProgressObserver* progress) {
  const bool has_store = !options.store.empty();
  fs::path attributes = options.attributes;
  if (fs::exists(folder / kAttributes)) {
    if (!has_store && !attributes.empty() && read_text_file(attributes) != read_text_file(folder / kAttributes))
      throw Error(ErrorCode::usage, fmt::format("{} is there already and differs from {}: choose another folder",
                                                (folder / kAttributes).string(), attributes.string()));
    if (attributes.empty()) attributes = folder / kAttributes;
  }
  Extraction result;
  result.dimensions = source.dimensions;
  result.classes = classes_of(attributes, list);
  result.has_labels = !list.class_names.empty();
  result.has_attributes = !attributes.empty();
  check_writable_folder(folder);
  require_memory(
      options.memory_limit, decoding_bytes(options.limits, source.input, pool.size(), pool.size()),
      "decoding photographs",
      "raise the limit, or use fewer " + option_name("threads") + " or a lower " + option_name("max-pixels"));

  if (has_store) make_folder(folder);
  PartialFeatures partial(has_store ? options.store : folder / kPartialExtractionFile, has_store, source, progress);
  // What is thrown says how to go on.
  const auto resumable = [&](const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      if (partial.size() == 0) throw;
      throw Error(error.code(), fmt::format("{}; the features of {} photographs are in {}: the same command goes "
                                            "on from them",
                                            error.what(), partial.size(), partial.file().string()));
    }
  };
  ReadImages read;
  resumable([&] { read_all({backbone, source.input, options.limits}, list, partial, read, pool, progress); });
  result.continued = read.continued;

  std::vector<std::string> names, labels, contents;
  std::set<std::string> readable(list.class_names.begin(), list.class_names.end());
  for (std::size_t i = 0; i < list.images.size(); ++i) {
    const auto& image = list.images[i];
    if (const auto error = read.errors.find(i); error != read.errors.end()) {
      result.unreadable.push_back(image.name + ": " + problem_of(error->second));
    } else {
      names.push_back(image.name);
      labels.push_back(image.class_name);
      contents.push_back(read.sha256[i]);
    }
  }
  if (names.empty()) throw none_readable(list.images.front(), read.errors.at(0), list.images.size());
  result.images = names.size();
  for (const auto& label : labels) readable.erase(label);  // what is left has none
  result.classes_without_images.assign(readable.begin(), readable.end());
  result.classes_without_images.insert(result.classes_without_images.end(), list.empty_folders.begin(),
                                       list.empty_folders.end());

  // From here on nothing is cancelled. The features come after all that says what they are, and the partial file goes
  // last: a crash between the files is made good by the same command.
  Matrix<float> block;
  const RowBlocks<float> rows{names.size(), source.dimensions, [&](std::size_t first, std::size_t count) {
                                if (block.rows() != count) block = Matrix<float>(count, source.dimensions);
                                for (std::size_t r = 0; r < count; ++r) partial.read(contents[first + r], block.row(r));
                                return MatrixView<const float>(block.view());
                              }};
  resumable([&] {
    if (!attributes.empty() && attributes != folder / kAttributes)
      write_text_file(folder / kAttributes, read_text_file(attributes));
    write_text_file(folder / kExtractionFile, to_json(source).dump(2) + "\n");
    if (result.has_labels) write_labels(folder, labels, result.classes, result.has_attributes);
    write_column(folder / "image_files.csv", {"image_file"}, names);
    write_npy(folder / "features.npy", rows);
  });
  partial.finish();
  return result;
}

PartialFeatures::PartialFeatures(const fs::path& file, bool is_store, const FeatureSource& source,
                                 ProgressObserver* progress)
    : file_(file), is_store_(is_store), dimensions_(source.dimensions), lock_(hold(file, is_store, made_, progress)) {
  stream_.open(file_, std::ios::in | std::ios::out | std::ios::binary);
  if (!stream_)
    throw Error(BadInput{file_.string(), "", "a file that can be changed", std::strerror(errno), "check permissions"});
  if (!fs::is_regular_file(file_))
    throw Error(BadInput{file_.string(), "", "an unfinished extraction", "no regular file", "remove it"});
  read_header(source);
  read_entries();
  begun_ = end_;
  if (entries_.empty() &&
      !is_store_) {  // another process may have completed the data set before this one began its file
    try {
      require_no_data_set(file_.parent_path());
    } catch (...) {
      finish();
      throw;
    }
  }
  const std::uint64_t size = fs::file_size(file_);
  if (size > end_)
    report_message(progress, fmt::format("{}: {} bytes at its end are damaged; these photographs are read again",
                                         file_.string(), size - end_));
  cut_off(end_);
}

PartialFeatures::~PartialFeatures() {
  std::error_code ignored;
  if (!entries_.empty()) return;
  fs::remove(file_, ignored);  // nothing to continue from
  for (const auto& folder : made_)
    if (!fs::remove(folder, ignored)) return;  // not empty
}

bool PartialFeatures::read_at(std::uint64_t offset, void* data, std::size_t bytes) const {
  stream_.clear();
  stream_.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(stream_.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes)));
}

void PartialFeatures::write_at(std::uint64_t offset, std::string_view bytes) {
  stream_.clear();
  stream_.seekp(static_cast<std::streamoff>(offset));
  if (!stream_.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush()) throw failed_to("write", file_);
}

void PartialFeatures::cut_off(std::uint64_t size) {
  std::error_code error;
  fs::resize_file(file_, size, error);
  if (error) throw Error(ErrorCode::failure, fmt::format("cannot change {}: {}", file_.string(), error.message()));
}

void PartialFeatures::read_header(const FeatureSource& source) {
  const std::string header = std::string(kFirstLine) + to_json(source).dump() + "\n";
  std::string found(std::min<std::uint64_t>(fs::file_size(file_), kMostHeader), '\0');
  if (!read_at(0, found.data(), found.size()))
    throw Error(BadInput{file_.string(), "", "a readable file", std::strerror(errno), "remove it"});
  if (header.starts_with(found)) {  // new, or interrupted before its first photograph
    write_at(0, header);
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
  std::string sha256(kDigits, '\0');
  std::uint32_t sum = 0;
  while (kDigits + bytes + sizeof sum <= size - end_) {
    const std::uint64_t offset = end_ + kDigits;
    if (!read_at(end_, sha256.data(), kDigits) || !read_at(offset, features.data(), bytes) ||
        !read_at(offset + bytes, &sum, sizeof sum) || sum != checksum_of(sha256, features))
      return;
    entries_[sha256] = offset;
    end_ = offset + bytes + sizeof sum;
  }
}

void PartialFeatures::append(const std::string& sha256, std::span<const float> features) {
  const std::uint32_t sum = checksum_of(sha256, features);
  std::string record = sha256;
  record.append(reinterpret_cast<const char*>(features.data()), features.size_bytes());
  record.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  write_at(end_, record);
  entries_[sha256] = end_ + kDigits;
  end_ += record.size();
}

void PartialFeatures::read(const std::string& sha256, std::span<float> features) const {
  if (!read_at(entries_.at(sha256), features.data(), features.size_bytes())) throw failed_to("read", file_);
}

void PartialFeatures::finish() {
  std::error_code ignored;
  if (!is_store_) fs::remove(file_, ignored);
}

}  // namespace parsnets
