#include "data/find_datasets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <set>

#include "base/file.hpp"
#include "data/folder.hpp"
#include "data/sample_files.hpp"
#include "data/split_file.hpp"
#include "formats/csv.hpp"
#include "formats/mat.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 3;
constexpr std::size_t kPublicDimensions = 2048;
const std::string kSplitsFile = "att_splits.mat", kFeaturesFile = "res101.mat";

/// A public data set and the published version of its att_splits.mat.
struct KnownSet {
  const char* name;
  std::size_t samples, classes;
  std::uint32_t trainval, test_seen, test_unseen;  ///< checksums of version 1; all 0: not known
  std::uint64_t splits_bytes;                      ///< of att_splits.mat; 0: not known
  const char* splits_sha256;                       ///< of att_splits.mat; empty: not known
  const char* source;                              ///< where its files are usually obtained from
};

constexpr const char* kXlsa17 =
    "xlsa17.zip, from the page of \"Zero-Shot Learning - A Comprehensive Evaluation of the Good, the Bad and the "
    "Ugly\" (MPI for Informatics)";

constexpr std::array<KnownSet, 6> kKnownSets{
    {{"APY", 15339, 32, 0x06baf7a8, 0x5dd47505, 0xe2c46864, 91141,
      "7a05d4b3b6af13f30f99f9f3dbfc058cff6f7564aa085bec36b7e768fa26d1b8", kXlsa17},
     {"AWA1", 30475, 50, 0xcf8c498a, 0xd207c68f, 0x79902f62, 134901,
      "752e0fad7b01b0ad966d7f5d5650817e85fb3008848d5c603b437b4d9219d664", kXlsa17},
     {"AWA2", 37322, 50, 0x3883e04c, 0x7d206d67, 0xd348a3a8, 156278,
      "dfe0e4f26ef5debaa77eff823a9316ac110e9b809b70d19c72dd11404f7be357", kXlsa17},
     {"CUB", 11788, 200, 0x3010ffca, 0x746dddb2, 0x8941c661, 255083,
      "3e4080e79b4049fcbc41b648f1c45f54af3c6c458ab6d8be526cc005b0831c2a", kXlsa17},
     {"FLO", 8189, 102, 0, 0, 0, 0, "", "the authors of \"Feature Generating Networks for Zero-Shot Learning\" (2018)"},
     {"SUN", 14340, 717, 0xf7389ad5, 0x563b5dcd, 0x6b6934bc, 291128,
      "90dcb2a60704ce1117ba1897523ba78dc6b625e606008918c4eade9cd8a5bf43", kXlsa17}}};

const KnownSet* known_set(std::string_view name) {
  const auto found = std::ranges::find(kKnownSets, name, &KnownSet::name);
  return found == kKnownSets.end() ? nullptr : &*found;
}

/// `root` and the folders under it, each once. Links are followed last, so that a folder is known by its own path.
std::vector<fs::path> folders_under(const fs::path& root) {
  struct Place {
    fs::path path;
    int depth;
  };
  std::deque<Place> waiting{{root, 0}}, links;
  std::set<fs::path> seen;
  std::vector<fs::path> folders;
  while (!waiting.empty() || !links.empty()) {
    auto& next = waiting.empty() ? links : waiting;
    const Place place = next.front();
    next.pop_front();
    std::error_code error;
    const fs::path canonical = fs::canonical(place.path, error);
    if (error || !seen.insert(canonical).second) continue;
    fs::directory_iterator entries(place.path, error);
    if (error) continue;
    folders.push_back(place.path);
    if (place.depth == kDeepest) continue;
    for (const auto& entry : entries)
      if (entry.is_directory(error) && !entry.path().filename().string().starts_with('.'))
        (entry.is_symlink(error) ? links : waiting).push_back({entry.path(), place.depth + 1});
  }
  std::ranges::sort(folders);
  return folders;
}

bool is_dataset(const fs::path& folder) {
  constexpr std::array kFiles{"split.json", "labels.npy", "labels.npz", "labels.csv"};
  const auto has = [&](const char* file) { return fs::is_regular_file(folder / file); };
  return !splits_names(folder).empty() || (std::ranges::any_of(kFiles, has) && !class_tables(folder, 0).empty());
}

/// `first` to the front, where it is there.
void put_first(std::vector<std::string>& names, const std::string& first) {
  std::stable_partition(names.begin(), names.end(), [&](const std::string& name) { return name == first; });
}

void list_plain(const fs::path& folder, FoundDataset& found) {
  const auto named = class_tables(folder, 0);
  const fs::path classes_from = fs::exists(folder / "attributes.csv") ? folder / "attributes.csv" : named.front();
  const std::size_t classes = read_csv(classes_from, true).rows();
  found.features = array_features(folder, classes);
  for (const auto& table : class_tables(folder, classes)) found.semantics.push_back(table.stem().string());
  put_first(found.semantics, classes_from.stem().string());
}

void list_xlsa17(const fs::path& folder, FoundDataset& found) {
  found.semantics = splits_names(folder);
  put_first(found.semantics, "att");
  if (found.semantics.empty()) return;
  const auto splits = MatFile::open(folder / splits_file(found.semantics.front()));
  const std::size_t classes = require_variable(*splits, "att").cols;
  found.features = all_features(folder, classes);
  for (const auto& table : class_tables(folder, classes))
    if (const std::string name = table.stem().string(); std::ranges::count(found.semantics, name) == 0)
      found.semantics.push_back(name);
}

/// What keeps the data set from being trained on, besides what load_dataset refuses.
std::string what_is_missing(const Dataset& data, const FoundDataset& found) {
  if (found.features.empty())
    return is_xlsa17(found.folder)
               ? fmt::format("no features: add {}, or features in an .npy, .npz or .csv file beside labels",
                             kFeaturesFile)
               : "no features: add features.npy, features.npz or features.csv";
  if (data.split.trainval.empty() || data.split.test_unseen.empty())
    return "no split: add split.json, which names the unseen classes";
  return "";
}

/// Public files that are not of the published version.
void note_other_versions(FoundDataset& found) {
  const KnownSet* known = known_set(found.known_as);
  const fs::path file = found.folder / kSplitsFile;
  if (known == nullptr || known->splits_bytes == 0 || !fs::is_regular_file(file)) return;
  if (fs::file_size(file) == known->splits_bytes && sha256_of_file(file) == known->splits_sha256) return;
  found.notes.push_back(fmt::format("{} is not the version of the Proposed Split v1 of {} ({} bytes, SHA-256 {})",
                                    kSplitsFile, known->name, known->splits_bytes, known->splits_sha256));
}

FoundDataset look_at(const fs::path& folder) {
  FoundDataset found;
  found.folder = folder;
  found.name = folder_name(folder);
  try {
    is_xlsa17(folder) ? list_xlsa17(folder, found) : list_plain(folder, found);
    LoadOptions load;
    if (!found.features.empty()) load.features = found.features.front();
    if (!found.semantics.empty()) load.semantics = found.semantics.front();
    load.require_features = load.read_features = load.require_split = false;
    const Dataset data = load_dataset(folder, load);
    found.known_as = data.known_as;
    found.problem = what_is_missing(data, found);
    if (found.problem.empty()) open_feature_rows(data);  // one row per label
    note_other_versions(found);
  } catch (const Error& error) {
    found.problem = error.message();
  }
  return found;
}

}  // namespace

std::vector<FoundDataset> find_datasets(const fs::path& root) {
  std::error_code error;
  if (!fs::is_directory(root, error))
    throw Error(BadInput{root.string(), "", "a folder to look for data sets in",
                         fs::exists(root, error) ? "a file" : "no such folder", "check the path"});
  std::vector<FoundDataset> found;
  for (const auto& folder : folders_under(root))
    if (is_dataset(folder)) found.push_back(look_at(folder));
  return found;
}

std::vector<PublicFile> missing_files(const FoundDataset& found) {
  std::vector<PublicFile> missing;
  const KnownSet* known = known_set(found.known_as);
  const bool plain = fs::exists(found.folder) && splits_names(found.folder).empty();
  if (known == nullptr || (plain && !found.features.empty())) return missing;
  if (!fs::exists(found.folder / kFeaturesFile))
    missing.push_back({kFeaturesFile, fmt::format("features {} x {} and labels", kPublicDimensions, known->samples),
                       known->source, 0, ""});
  if (!plain && !fs::exists(found.folder / kSplitsFile))
    missing.push_back({kSplitsFile, fmt::format("semantics of {} classes and the Proposed Split", known->classes),
                       known->source, known->splits_bytes, known->splits_sha256});
  return missing;
}

std::vector<MissingDataset> missing_datasets(const fs::path& root, const std::vector<FoundDataset>& found) {
  std::vector<MissingDataset> missing;
  for (const char* name : {"AWA1", "AWA2", "CUB", "SUN", "APY", "FLO"}) {
    const auto is_it = [&](const FoundDataset& data) { return data.known_as == name; };
    if (std::ranges::any_of(found, [&](const FoundDataset& data) { return is_it(data) && data.problem.empty(); }))
      continue;
    const auto part = std::ranges::find_if(found, is_it);
    const FoundDataset wanted = part != found.end() ? *part : FoundDataset{root / name, name, name, {}, {}, {}, {}};
    missing.push_back({name, wanted.folder, missing_files(wanted)});
  }
  return missing;
}

void recognise(Dataset& data) {
  Split& split = data.split;
  // A folder without features still tells its size by the lists, which hold every sample of these sets.
  const std::size_t samples =
      data.labels.empty() ? split.trainval.size() + split.test_seen.size() + split.test_unseen.size() : data.samples();
  for (const auto& known : kKnownSets) {
    if (known.samples != samples || known.classes != data.classes()) continue;
    data.known_as = known.name;
    if (known.test_unseen == 0 || index_checksum(split.test_unseen) != known.test_unseen) return;
    split.proposed_of = known.name;
    if (index_checksum(split.trainval) == known.trainval && index_checksum(split.test_seen) == known.test_seen)
      split.version = fmt::format("Proposed Split v1 of {}", known.name);
  }
}

}  // namespace parsnets
