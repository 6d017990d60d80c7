#include "parsnets/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "data/feature_source.hpp"
#include "data/find_datasets.hpp"
#include "data/folder.hpp"
#include "data/load_options.hpp"
#include "data/sample_set.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

/// A file that says that the features beside it are synthetic.
constexpr const char* kGeneratedMark = "generated.json";

bool is_xlsa17(const std::filesystem::path& folder) {
  if (!splits_names(folder).empty()) return true;
  if (std::filesystem::exists(folder / "attributes.csv")) return false;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".mat") return true;
  return false;
}

std::string folder_name(const std::filesystem::path& folder) {
  const auto path = std::filesystem::absolute(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

std::vector<std::int32_t> Dataset::seen_classes() const { return distinct_labels(split.trainval, labels); }
std::vector<std::int32_t> Dataset::unseen_classes() const { return distinct_labels(split.test_unseen, labels); }

Dataset load_dataset(const std::filesystem::path& folder, const LoadOptions& options, ProgressObserver* progress) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    throw Error(BadInput{folder.string(), "", "a data set folder",
                         std::filesystem::exists(folder, error) ? "a file" : "no such folder", "check the path"});
  std::filesystem::directory_iterator readable(folder, error);
  if (error) throw Error(BadInput{folder.string(), "", "a readable folder", error.message(), "check its permissions"});
  if (std::filesystem::exists(folder / kPartialExtractionFile, error))
    throw Error(BadInput{(folder / kPartialExtractionFile).string(), "", "a complete data set",
                         "an extraction that was interrupted", "run the same extraction again: it goes on"});
  Dataset data = is_xlsa17(folder) ? load_xlsa17(folder, options, progress) : load_plain(folder, options, progress);
  data.name = folder_name(folder);
  data.chosen = chosen_files(options, folder);
  data.generated = std::filesystem::exists(folder / kGeneratedMark);
  if (!data.generated) recognise(data);
  if (!data.features_file.empty()) data.source = read_feature_source(data.features_file);
  data.loaded = options;
  for (const auto& note : data.notes) report_message(progress, note);
  return data;
}

void save_dataset(const Dataset& data, const std::filesystem::path& folder, DataFormat format) {
  save_dataset(data, blocks_of(data.features), folder, format);
}

void save_dataset(const Dataset& data, const RowBlocks<float>& features, const std::filesystem::path& folder,
                  DataFormat format) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder))
    throw Error(ErrorCode::failure, fmt::format("cannot create the folder {}: {}", folder.string(), error.message()));
  if (data.source)  // before the features: an interrupted call leaves none whose origin is not known
    write_text_file(folder / kExtractionFile, to_json(*data.source).dump(2) + "\n");
  save_plain(data, features, folder, format);
  if (data.generated)
    write_text_file(folder / kGeneratedMark, "{\"generated\": true}\n");
  else
    std::filesystem::remove(folder / kGeneratedMark, error);
  if (!data.source) std::filesystem::remove(folder / kExtractionFile, error);
}

std::int64_t to_integer(double value, const std::string& file, const std::string& field, std::size_t i) {
  if (!(std::abs(value) < 9e15) || value != std::floor(value))
    throw Error(BadInput{file, fmt::format("{}, value {}", field, i + 1), "an integer", fmt::format("{}", value),
                         "write integers"});
  return static_cast<std::int64_t>(value);
}

std::vector<std::int64_t> to_integers(std::span<const double> values, const std::string& file,
                                      const std::string& field) {
  std::vector<std::int64_t> integers;
  integers.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) integers.push_back(to_integer(values[i], file, field, i));
  return integers;
}

std::string quoted_list(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i == 0 ? "'" : ", '") + escaped(names[i]) + "'";
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text.empty() ? "nothing" : text;
}

}  // namespace parsnets
