#include "data/folder.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <string_view>

#include "base/text.hpp"
#include "formats/mat.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSplitsEnding = "_splits";

bool is_splits(const fs::path& file) {
  return file.extension() == ".mat" && file.stem().string().ends_with(kSplitsEnding);
}

bool has_ending(const fs::path& file, Endings endings) {
  return std::ranges::find(endings, file.extension().string()) != endings.end();
}

/// Regular files with an ending, sorted.
std::vector<fs::path> files_of(const fs::path& folder, Endings endings) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (has_ending(entry.path(), endings) && entry.is_regular_file(error)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

/// Unknown to a reader that fails: such a file is reported when it is used.
template <class Test>
bool holds(bool if_unreadable, Test test) {
  try {
    return test();
  } catch (const Error&) {
    return if_unreadable;
  }
}

/// Whether the first line names a column `class`.
bool has_class_column(const fs::path& csv) {
  std::ifstream file(csv);
  std::string line;
  for (char c = 0; line.size() < (1u << 20) && file.get(c) && c != '\n';) line += c;
  if (line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
  while (!line.empty() && line.back() == '\r') line.pop_back();
  return std::ranges::any_of(split_at(line, ","), [](auto cell) { return cell == "class" || cell == "\"class\""; });
}

std::size_t npy_rows(const NpyLocation& where) {
  const NpyHeader header = read_npy_header(where);
  return header.is_text || header.shape.empty() ? 0 : header.shape.front();
}

bool is_of_samples(const fs::path& file) { return file.stem() == "labels" || file.stem() == "image_files"; }

bool is_class_table(const fs::path& file, std::size_t classes) {
  if (file.stem() == "features" || is_of_samples(file)) return false;
  if (file.extension() == ".csv") return has_class_column(file);
  return file.extension() == ".npy" && classes > 0 && holds(false, [&] { return npy_rows({file, ""}) == classes; });
}

/// Whether the rows of an .npy or .npz are two-dimensional numbers.
bool has_matrix(const fs::path& file) {
  if (file.extension() == ".csv") return true;
  return holds(true, [&] {
    NpyLocation where{file, ""};
    if (file.extension() == ".npz") {
      const auto members = npz_members(file);
      where.member = members.size() == 1 ? members.front() : "features";
      if (members.size() != 1 && std::ranges::count(members, where.member) == 0) return false;
    }
    const NpyHeader header = read_npy_header(where);
    return !header.is_text && header.shape.size() == 2;
  });
}

}  // namespace

std::optional<fs::path> find_one(const fs::path& folder, const std::string& stem, Endings endings) {
  std::vector<std::string> found;
  for (const auto* ending : endings)
    if (fs::exists(folder / (stem + ending))) found.push_back(stem + ending);
  if (found.empty()) return std::nullopt;
  if (found.size() > 1)
    throw Error(BadInput{folder.string(), stem, "one file", quoted_list(found), "remove all but one"});
  return folder / found.front();
}

std::optional<fs::path> find_named(const fs::path& folder, const std::string& name, Endings endings) {
  if (has_ending(name, endings))
    for (const fs::path& file : {folder / name, fs::path(name)})
      if (fs::is_regular_file(file)) return file;
  return find_one(folder, name, endings);
}

std::string splits_file(const std::string& name) { return name + std::string(kSplitsEnding) + ".mat"; }

std::vector<std::string> splits_names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& file : files_of(folder, {".mat"}))
    if (const std::string stem = file.stem().string(); is_splits(file))
      names.push_back(stem.substr(0, stem.size() - kSplitsEnding.size()));
  return names;
}

std::vector<std::string> mat_features(const fs::path& folder, bool any) {
  std::vector<std::string> names;
  for (const auto& file : files_of(folder, {".mat"}))
    if (!is_splits(file) && (any || holds(true, [&] { return MatFile::open(file)->find("features") != nullptr; })))
      names.push_back(file.stem().string());
  return names;
}

std::vector<std::string> array_features(const fs::path& folder, std::size_t classes) {
  std::set<std::string> names;
  for (const auto& file : files_of(folder, kSampleEndings))
    if (!is_of_samples(file) && !is_class_table(file, classes) && has_matrix(file)) names.insert(file.stem().string());
  return {names.begin(), names.end()};
}

std::vector<std::string> all_features(const fs::path& folder, std::size_t classes) {
  std::set<std::string> names;
  for (const auto& list : {mat_features(folder), array_features(folder, classes)})
    names.insert(list.begin(), list.end());
  return {names.begin(), names.end()};
}

std::vector<fs::path> class_tables(const fs::path& folder, std::size_t classes) {
  auto files = files_of(folder, {".npy", ".csv"});
  std::erase_if(files, [&](const fs::path& file) { return !is_class_table(file, classes); });
  return files;
}

}  // namespace parsnets
