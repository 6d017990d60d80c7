#include "data/split.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/rng.hpp"
#include "base/row_blocks.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

using Indices = std::vector<std::int32_t>;

std::size_t share_of(double share, std::size_t total) {
  return static_cast<std::size_t>(std::llround(share < 1 ? share * static_cast<double>(total) : share));
}

}  // namespace

std::uint32_t index_checksum(std::vector<std::int32_t> indices) {
  std::sort(indices.begin(), indices.end());
  std::vector<unsigned char> bytes;
  bytes.reserve(indices.size() * 4);
  for (const auto i : indices)
    for (int shift = 0; shift < 32; shift += 8)
      bytes.push_back(static_cast<unsigned char>(static_cast<std::uint32_t>(i) >> shift));
  return static_cast<std::uint32_t>(::crc32_z(0, bytes.data(), bytes.size()));
}

Split split_from_lists(const RawSplit& raw, std::size_t samples, const std::string& file) {
  const auto limit = static_cast<std::int64_t>(samples == 0 ? std::numeric_limits<std::int32_t>::max() : samples);
  const char* zero_in = nullptr;
  const char* top_in = nullptr;
  for (const auto& [name, list, unused] : kSplitLists)
    for (const auto i : raw.*list) {
      if (i < 0 || i > limit)
        throw Error(BadInput{file, name, fmt::format("sample indices from 1 to {}", limit), std::to_string(i),
                             "the split does not belong to these features"});
      if (i == 0) zero_in = name;
      if (i == limit) top_in = name;
    }
  if (zero_in != nullptr && top_in != nullptr)
    throw Error(BadInput{file, zero_in, fmt::format("indices from 1 to {0} or from 0 to {1}", limit, limit - 1),
                         fmt::format("index 0 here and index {} in {}", limit, top_in),
                         "the lists mix 1-based and 0-based indices: use one base for all of them"});
  const std::int64_t base = zero_in != nullptr ? 0 : 1;
  Split split;
  for (const auto& [name, list, target] : kSplitLists) {
    for (const auto i : raw.*list) (split.*target).push_back(static_cast<std::int32_t>(i - base));
    Indices sorted = split.*target;
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
      throw Error(BadInput{file, name, "each sample only once", fmt::format("sample {} twice", *twice + base),
                           "remove the duplicates"});
  }
  return split;
}

Split split_from_classes(const ClassSplit& classes, const std::vector<std::int32_t>& labels) {
  Split split;
  std::vector<char> held_out(labels.size(), 0);
  for (const auto s : classes.test_seen) held_out[static_cast<std::size_t>(s)] = 1;
  const std::set<std::int32_t> unseen(classes.unseen_classes.begin(), classes.unseen_classes.end());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    auto& list = unseen.contains(labels[i]) ? split.test_unseen : held_out[i] ? split.test_seen : split.trainval;
    list.push_back(static_cast<std::int32_t>(i));
  }
  return split;
}

Split split_without_test(const std::vector<std::int32_t>& labels, std::uint64_t seed) {
  Split split = split_from_classes({}, labels);
  derive_validation(split, labels, {}, seed);
  split.version = "all samples train";
  return split;
}

void derive_validation(Split& split, const std::vector<std::int32_t>& labels, const Indices& val_classes,
                       std::uint64_t seed) {
  if (!split.file_train.empty() && !split.file_val.empty()) {
    split.train = intersection(split.file_train, split.trainval);
    split.val = intersection(split.file_val, split.trainval);
    split.validation_from = "train_loc and val_loc, each intersected with trainval_loc";
    return;
  }
  if (labels.empty()) return;
  Indices chosen = val_classes;
  split.validation_from = "validation classes named by the data set";
  if (chosen.empty()) {
    Indices seen = distinct_labels(split.trainval, labels);
    if (seen.size() < 3) {
      split.validation_from.clear();
      return;
    }
    Rng(seed, 0x76616c).shuffle(seen);
    seen.resize(std::max<std::size_t>(1, seen.size() * 3 / 10));
    chosen = seen;
    split.validation_drawn = true;
    split.validation_from = fmt::format("{} of the seen classes, drawn with seed {}", chosen.size(), seed);
  }
  std::sort(chosen.begin(), chosen.end());
  for (const auto s : split.trainval) {
    const bool held = std::binary_search(chosen.begin(), chosen.end(), labels[static_cast<std::size_t>(s)]);
    (held ? split.val : split.train).push_back(s);
  }
}

std::string split_name(const Split& split) {
  if (split.file.empty()) return split.version;
  return split.version.empty() ? split.file : fmt::format("{}: {}", split.file, split.version);
}

std::string split_layout(const Split& split, bool has_train_and_val) {
  if (!has_train_and_val) return "layout of Proposed Split v2 (no train_loc and val_loc)";
  const std::size_t leaked =
      intersection(split.file_train, split.test_seen).size() + intersection(split.file_val, split.test_seen).size();
  if (leaked > 0) return "layout of Proposed Split v1 (train_loc and val_loc hold test-seen samples)";
  return "not a known Proposed Split (train_loc and val_loc hold no test-seen samples)";
}

ClassSplit make_class_split(const std::vector<std::int32_t>& labels, std::size_t classes, const SplitOptions& options) {
  std::vector<Indices> members(classes);
  for (std::size_t i = 0; i < labels.size(); ++i)
    members[static_cast<std::size_t>(labels[i])].push_back(static_cast<std::int32_t>(i));
  Indices candidates;
  for (std::size_t c = 0; c < classes; ++c)
    if (!members[c].empty()) candidates.push_back(static_cast<std::int32_t>(c));

  ClassSplit split;
  if (!options.unseen_classes.empty()) {
    split.unseen_classes = options.unseen_classes;
    std::erase_if(candidates, [&](std::int32_t c) { return std::ranges::count(options.unseen_classes, c) > 0; });
    Rng(options.seed, 1).shuffle(candidates);
  } else {
    Rng(options.seed, 1).shuffle(candidates);
    const std::size_t unseen = std::max<std::size_t>(1, share_of(options.unseen, candidates.size()));
    if (unseen + 2 > candidates.size())
      throw Error(ErrorCode::usage, fmt::format("{}: expected to leave at least 2 of {} classes seen, found {} unseen",
                                                option_name("unseen"), candidates.size(), unseen));
    split.unseen_classes.assign(candidates.end() - static_cast<std::ptrdiff_t>(unseen), candidates.end());
    candidates.resize(candidates.size() - unseen);
  }
  const std::size_t validation = share_of(options.validation, candidates.size());
  if (validation + 1 > candidates.size())
    throw Error(ErrorCode::usage,
                fmt::format("{}: expected to leave at least 1 of {} seen classes for training, found {} for validation",
                            option_name("validation"), candidates.size(), validation));
  split.val_classes.assign(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(validation));
  for (const auto c : candidates) {
    Indices samples = members[static_cast<std::size_t>(c)];
    Rng(options.seed, 1000 + static_cast<std::uint64_t>(c)).shuffle(samples);
    const std::size_t held = std::min(samples.size() - 1, share_of(std::min(options.test_seen, 0.99), samples.size()));
    split.test_seen.insert(split.test_seen.end(), samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(held));
  }
  for (auto* list : {&split.unseen_classes, &split.val_classes, &split.test_seen}) std::ranges::sort(*list);
  return split;
}

}  // namespace parsnets
