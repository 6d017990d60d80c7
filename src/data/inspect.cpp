#include "data/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>

#include "data/folder.hpp"

namespace parsnets {

namespace {

using Indices = std::vector<std::int32_t>;

std::size_t overlap(const Indices& a, const Indices& b) { return intersection(a, b).size(); }

struct Inspector {
  const Dataset& data;
  ProgressObserver* progress;
  Inspection inspection{};

  Inspection run() {
    list_sizes();
    lists();
    classes();
    semantics();
    if (!data.features.empty()) {
      feature_values();
      duplicate_samples();
    }
    std::ranges::stable_sort(inspection.findings, std::greater(), &Finding::severity);
    return std::move(inspection);
  }

  void add(Severity severity, std::string id, std::size_t count, std::string text) {
    if (count > 0) inspection.findings.push_back({severity, std::move(id), std::move(text), count});
  }

  Indices classes_in(const Indices& samples) const { return distinct_labels(samples, data.labels); }

  void list_sizes() {
    const auto& s = data.split;
    const std::pair<const char*, const Indices*> lists[] = {
        {"trainval", &s.trainval}, {"test_seen", &s.test_seen},   {"test_unseen", &s.test_unseen}, {"train", &s.train},
        {"val", &s.val},           {"file_train", &s.file_train}, {"file_val", &s.file_val}};
    for (const auto& [name, list] : lists)
      if (!list->empty())
        inspection.lists.push_back({name, list->size(), classes_in(*list).size(), index_checksum(*list)});
  }

  void lists() {
    const auto& s = data.split;
    const auto in_list = [&](const char* id, std::size_t count, const char* kind, const char* list) {
      add(Severity::note, id, count,
          fmt::format(
              "the file's {} contains {} {} samples, as in the public files; ParsNets removes them from the list", list,
              count, kind));
      return count;
    };
    inspection.test_seen_in_train_list =
        in_list("test-seen-in-train-list", overlap(s.file_train, s.test_seen), "test-seen", "train_loc");
    inspection.test_seen_in_val_list =
        in_list("test-seen-in-val-list", overlap(s.file_val, s.test_seen), "test-seen", "val_loc");
    in_list("test-unseen-in-train-list", overlap(s.file_train, s.test_unseen) + overlap(s.file_val, s.test_unseen),
            "test-unseen", "train_loc or val_loc");
    const auto leak = [&](const char* id, std::size_t count, const char* what) {
      add(Severity::leak, id, count, fmt::format("{} {}", count, what));
    };
    const Indices train_classes = classes_in(s.trainval), tested_classes = classes_in(s.test_seen);
    leak("class-seen-and-unseen", overlap(train_classes, classes_in(s.test_unseen)),
         "classes have samples both in trainval and in test_unseen");
    leak("class-in-train-and-val", overlap(classes_in(s.train), classes_in(s.val)),
         "classes have samples both in train and in val, so validation does not test unseen classes");
    leak("test-unseen-in-trainval", overlap(s.trainval, s.test_unseen), "test-unseen samples are also in trainval");
    leak("test-seen-in-trainval", overlap(s.trainval, s.test_seen), "test-seen samples are also in trainval");
    add(Severity::warning, "test-seen-of-new-class", tested_classes.size() - overlap(tested_classes, train_classes),
        "some test-seen samples belong to classes without training samples");
    if (data.samples() == 0) return;
    const std::size_t used = s.trainval.size() + s.test_seen.size() + s.test_unseen.size();
    if (used < data.samples())
      add(Severity::note, "unused-samples", data.samples() - used,
          fmt::format("{} samples are not in any list of the split", data.samples() - used));
    add(Severity::note, "no-validation", s.val.empty() ? 1 : 0, "the split has no validation classes");
  }

  void classes() {
    for (const auto& note : data.notes) add(Severity::note, "assumed", 1, note);
    if (data.labels.empty()) {
      add(Severity::note, "no-features", 1,
          "the folder has no features and labels: only semantics and split were checked");
    } else {
      std::vector<std::size_t> sizes(data.classes(), 0);
      for (const auto label : data.labels) ++sizes[static_cast<std::size_t>(label)];
      std::vector<std::string> empty;
      for (std::size_t c = 0; c < sizes.size(); ++c)
        if (sizes[c] == 0) empty.push_back(data.class_names[c]);
      add(Severity::warning, "class-without-samples", empty.size(), "classes without samples: " + quoted_list(empty));
    }
    std::map<std::string, std::size_t> names;
    for (const auto& name : data.class_names) ++names[name];
    std::vector<std::string> twice;
    for (const auto& [name, count] : names)
      if (count > 1) twice.push_back(name);
    add(Severity::warning, "class-named-twice", twice.size(), "classes named more than once: " + quoted_list(twice));
  }

  void semantics() {
    const auto& values = data.semantics.values;
    std::vector<std::string> blank, alike;
    std::map<std::vector<float>, std::size_t> seen;
    for (std::size_t c = 0; c < values.rows(); ++c) {
      const auto row = values.row(c);
      if (std::all_of(row.begin(), row.end(), [](float v) { return v == 0; })) blank.push_back(data.class_names[c]);
      if (!seen.emplace(std::vector<float>(row.begin(), row.end()), c).second) alike.push_back(data.class_names[c]);
    }
    add(Severity::warning, "class-without-semantics", blank.size(),
        "classes whose semantics are all zero: " + quoted_list(blank));
    add(Severity::warning, "classes-with-equal-semantics", alike.size(),
        "classes with the same semantics as another class: " + quoted_list(alike));
    const char* policy =
        data.semantics.policy == MissingPolicy::zero ? "zero" : "the attribute's mean over the classes";
    add(Severity::note, "missing-attribute-values", data.semantics.missing,
        fmt::format("{} attribute values are missing and were replaced by {}", data.semantics.missing, policy));
  }

  void feature_values() {
    const auto& x = data.features;
    std::vector<float> low(x.cols(), std::numeric_limits<float>::infinity()),
        high(x.cols(), -std::numeric_limits<float>::infinity());
    std::size_t nan = 0, infinite = 0;
    UsedRows used(x);
    for (std::size_t r = 0; r < x.rows(); ++r) {
      const auto row = x.row(r);
      for (std::size_t c = 0; c < row.size(); ++c) {
        if (!std::isfinite(row[c])) ++(std::isnan(row[c]) ? nan : infinite);
        low[c] = row[c] < low[c] ? row[c] : low[c];
        high[c] = row[c] > high[c] ? row[c] : high[c];
      }
      used.add(r, 1);
      if (r % 4096 == 0) report(progress, {"check features", r, x.rows(), "samples"});
    }
    std::size_t constant = 0;
    for (std::size_t c = 0; c < x.cols(); ++c) constant += low[c] >= high[c] ? 1 : 0;
    add(Severity::warning, "nan-features", nan, fmt::format("{} feature values are NaN", nan));
    add(Severity::warning, "infinite-features", infinite, fmt::format("{} feature values are infinite", infinite));
    add(Severity::note, "constant-features", constant,
        fmt::format("{} features have the same value in every sample", constant));
  }

  void duplicate_samples() {
    const auto& x = data.features;
    std::vector<std::pair<std::uint64_t, std::int32_t>> hashes;
    hashes.reserve(x.rows());
    UsedRows used(x);
    for (std::size_t r = 0; r < x.rows(); ++r) {
      std::uint64_t h = 0x9e3779b97f4a7c15u;
      for (const float v : x.row(r)) h = (std::rotl(h, 7) ^ std::bit_cast<std::uint32_t>(v)) * 0x2545f4914f6cdd1du;
      hashes.emplace_back(h, static_cast<std::int32_t>(r));
      used.add(r, 1);
    }
    std::sort(hashes.begin(), hashes.end());
    std::vector<char> test(x.rows(), 0), training(x.rows(), 0);
    for (const auto* list : {&data.split.test_seen, &data.split.test_unseen})
      for (const auto s : *list) test[static_cast<std::size_t>(s)] = 1;
    for (const auto s : data.split.trainval) training[static_cast<std::size_t>(s)] = 1;
    std::size_t duplicates = 0, across = 0;
    for (std::size_t i = 1; i < hashes.size(); ++i) {
      if (hashes[i].first != hashes[i - 1].first) continue;
      const auto a = static_cast<std::size_t>(hashes[i - 1].second), b = static_cast<std::size_t>(hashes[i].second);
      const bool same = std::memcmp(x.row(a).data(), x.row(b).data(), x.cols() * sizeof(float)) == 0;
      used.add(a, 1);
      used.add(b, 1);
      if (!same) continue;
      ++duplicates;
      across += (test[a] && training[b]) || (test[b] && training[a]) ? 1 : 0;
    }
    add(Severity::warning, "duplicate-samples", duplicates,
        fmt::format("{} samples have exactly the features of another sample", duplicates));
    add(Severity::leak, "duplicate-across-train-and-test", across,
        fmt::format("{} pairs of identical samples have one in trainval and one in a test list", across));
  }
};

}  // namespace

Inspection inspect_dataset(const Dataset& data, ProgressObserver* progress) { return Inspector{data, progress}.run(); }

}  // namespace parsnets
