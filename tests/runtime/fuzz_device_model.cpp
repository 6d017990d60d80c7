// Hostile device files: the C runtime and the library's reader, which share the tables of the layout but no code, must
// give the same verdict on every file, and whatever both accept the runtime must bear: each call returns a code or
// finite numbers, in memory of exactly the size it asked for. Built with address and undefined-behaviour sanitizers
// whatever the rest is built with.
//
//   fuzz_device_model [mutations = 100000]    mutation i is the same in every run
//   fuzz_device_model FILE...                 checks the files, such as the one a failed run leaves behind

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/device_reader.hpp"
#include "device_mutator.hpp"
#include "parsnets/error.hpp"
#include "parsnets_rt.h"

namespace {

using parsnets::DeviceInfo;
using parsnets::DevicePart;
using parsnets::Rng;
using parsnets::test::Bytes;
using parsnets::test::Mutator;
using parsnets::test::Seed;

constexpr const char* kFailedFile = "fuzz_device_model.failed";

/// Values in a heap block that ends where they do, so that the sanitizer sees the first byte beyond.
template <class T>
class Exact {
 public:
  explicit Exact(std::size_t size) : data_(new T[size]), size_(size) {
    std::memset(static_cast<void*>(data()), 0xff, size * sizeof(T));  // NaN: what was not written is noticed
  }
  T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T* begin() const { return data(); }
  T* end() const { return data() + size_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  std::unique_ptr<T[]> data_;
  std::size_t size_;
};

/// One file under test; `require` reports the first thing that is wrong and ends the program.
class Trial {
 public:
  Trial(const Bytes& file, std::string origin, std::uint64_t stream)
      : file_(file), origin_(std::move(origin)), rng_(77, stream) {}

  /// The verdict of both.
  pnrt_status run() {
    Exact<std::byte> bytes(file_.size());
    std::copy(file_.begin(), file_.end(), bytes.begin());
    std::string field, message;
    DeviceInfo info;
    try {
      info = parsnets::read_device_info({bytes.data(), bytes.size()}, "the file");
    } catch (const parsnets::Error& error) {
      field = error.parts().field;
      message = error.what();
      require(!field.empty(), "the reader names the field");
    }
    const pnrt_status status = pnrt_open(&model_, bytes.data(), bytes.size());
    require(status == expected_status(field),
            "same verdict; runtime: '" + std::string(pnrt_status_text(status)) + "', reader: '" + message + "'");
    if (status == PNRT_OK) {
      check_info(info);
      use(info, bytes);
    }
    return status;
  }

  static inline std::map<std::string, std::size_t> not_finite;  ///< calls that returned that, by function
  static inline std::size_t rejected = 0, accepted = 0;         ///< samples that were judged

 private:
  void require(bool good, const std::string& what) const {
    if (good) return;
    std::ofstream(kFailedFile, std::ios::binary)
        .write(reinterpret_cast<const char*>(file_.data()), static_cast<std::streamsize>(file_.size()));
    std::printf("FAILED: %s\n  %s\n  the file is in %s\n", what.c_str(), origin_.c_str(), kFailedFile);
    std::exit(1);
  }

  static pnrt_status expected_status(const std::string& field) {
    if (field.empty()) return PNRT_OK;
    if (field == "magic") return PNRT_NOT_A_MODEL;
    if (field == "format version") return PNRT_OTHER_VERSION;
    if (field == "bytes of the file") return PNRT_TRUNCATED;
    return field == "CRC-32" ? PNRT_DAMAGED : PNRT_INVALID;
  }

  /// OK or not finite: nothing else may come of a file that was accepted.
  bool well(const char* function, pnrt_status status) const {
    if (status == PNRT_NOT_FINITE) ++not_finite[function];
    require(status == PNRT_OK || status == PNRT_NOT_FINITE,
            std::string(function) + " is well; it says: " + pnrt_status_text(status));
    return status == PNRT_OK;
  }

  template <class Range>
  void require_finite(const Range& values, const char* what) const {
    for (const float v : values) require(v >= -FLT_MAX && v <= FLT_MAX, std::string("finite ") + what);
  }

  void check_info(const DeviceInfo& f) {
#define SAME(name, ...) require(model_.name == f.name, "the same " #name);
    PNRT_SIZES(SAME)
    PNRT_NUMBERS(SAME)
    PNRT_CHOICES(SAME)
    for (std::uint32_t c = 0; c < f.classes; ++c) {
      std::uint32_t index = 0;
      require(f.class_names[c] == pnrt_class_name(&model_, nullptr, c), "the same class names");
      require(pnrt_find_class(&model_, nullptr, f.class_names[c].c_str(), &index) == PNRT_OK && index == c,
              "every class is found by its name");
      require(f.class_seen[c] == model_.class_seen[c], "the same seen classes");
    }
    require(pnrt_class_name(&model_, nullptr, f.classes) == nullptr, "no class behind the last");
    for (std::uint32_t j = 0; j < f.attributes; ++j) {
      const char* name = pnrt_attribute_name(&model_, j);
      require(f.attribute_names.empty() ? name == nullptr : f.attribute_names[j] == name, "the same attribute names");
    }
    check_source(f);
    integer_ = true;
    for (std::size_t i = 0; i < PNRT_SECTION_COUNT; ++i) {  // `span` is multiplied as float on every path
      const bool matrix = f.sections[i].present() && std::string(parsnets::test::kSectionKinds[i]) == "MATRIX";
      if (matrix && f.sections[i].type != PNRT_I8 && &f.sections[i] != &f.section(DevicePart::span)) integer_ = false;
    }
  }

  void check_source(const DeviceInfo& f) const {
    const pnrt_source* source = pnrt_feature_source(&model_);
    require((source != nullptr) == f.source.has_value(), "both or neither have a source");
    if (source == nullptr) return;
    std::string sha256;
    for (std::size_t i = 0; i < 32; ++i)
      for (const unsigned digit : {source->sha256[i] / 16u, source->sha256[i] % 16u})
        sha256 += "0123456789abcdef"[digit];
    require(f.source->sha256 == sha256 && f.source->layer == source->layer && f.source->backbone == source->backbone &&
                f.source->dimensions == source->dimensions && f.source->input.width == source->width &&
                f.source->input.height == source->height &&
                f.source->input.preset == static_cast<parsnets::PixelPreset>(source->preset) &&
                f.source->input.fit == static_cast<parsnets::ImageFit>(source->fit % 2) &&
                (f.source->pool == parsnets::FeatureSource::Pooling::both) == (source->fit >= 2),
            "the same source");
  }

  Exact<float> random_values(std::size_t n) {
    static constexpr float sizes[] = {0, 1e-38f, 1e-12f, 1, 1, 1, 1, 1e4f, 1e15f, 1e37f};
    const float size = sizes[rng_.below(std::size(sizes))];
    Exact<float> values(n);
    for (auto& v : values) v = size * static_cast<float>(rng_.normal());
    return values;
  }

  /// What `call` returns without SIMD.
  template <class Call>
  auto without_simd(const Call& call) {
    const auto path = std::exchange(model_.path, std::uint8_t{PNRT_SCALAR});
    auto result = call();
    model_.path = path;
    return result;
  }

  /// Scores on the path the runtime chose; integer models must give the same bits on the plain one.
  Exact<float> scores(const pnrt_bank* bank, const Exact<float>& features, bool& good) {
    Exact<std::byte> work(pnrt_work_bytes(&model_, bank));
    Exact<float> out(pnrt_class_slots(&model_, bank));
    good = well("pnrt_scores", pnrt_scores(&model_, bank, features.data(), out.data(), work.data(), work.size()));
    if (good) require_finite(out, "scores");
    if (integer_) {
      Exact<float> plain(out.size());
      const auto status = without_simd(
          [&] { return pnrt_scores(&model_, bank, features.data(), plain.data(), work.data(), work.size()); });
      require(good == (status == PNRT_OK), "the same verdict with and without SIMD");
      if (good)
        require(std::memcmp(out.data(), plain.data(), 4 * out.size()) == 0, "the same bits with and without SIMD");
    }
    return out;
  }

  /// The prediction, and whether there is one.
  Exact<float> predict(const Exact<float>& features, bool& good) {
    Exact<std::byte> work(pnrt_work_bytes(&model_, nullptr));
    Exact<float> prediction(model_.outputs);
    Exact<std::uint16_t> open(model_.open);
    good = well("pnrt_predict",
                pnrt_predict(&model_, features.data(), prediction.data(), open.data(), work.data(), work.size()));
    if (!good) return prediction;
    require_finite(prediction, "predictions");
    for (std::size_t i = 0; i < open.size(); ++i)
      require(open[i] < model_.networks && (i == 0 || open[i - 1] < open[i]), "open networks ascend");
    return prediction;
  }

  /// Scores of the model's classes, from the prediction in double precision.
  void check_scores(const DeviceInfo& info, const Exact<std::byte>& file, const Exact<float>& prediction,
                    const Exact<float>& found) const {
    const auto classes = parsnets::test::device_matrix({file.data(), file.size()}, info, DevicePart::class_vectors);
    const auto centre = parsnets::test::device_matrix({file.data(), file.size()}, info, DevicePart::semantic_centre);
    std::vector<double> f(prediction.begin(), prediction.end());
    double square = 0, largest = 0;
    for (std::size_t j = 0; j < f.size(); ++j)
      if (model_.similarity == 0 && !centre.empty()) f[j] = prediction[j] - centre(0, j);  // in float, as it may cancel
    for (const double v : f) {
      square += v * v;
      largest = std::max(largest, std::abs(v));
    }
    if (square < 1e-30) return;  // int8 models and float squares take such a prediction for 0
    for (std::size_t c = 0; c < classes.rows(); ++c) {
      double product = 0, size = 0, class_square = 0;
      for (std::size_t j = 0; j < f.size(); ++j) {
        product += f[j] * classes(c, j);
        size += largest * std::abs(classes(c, j));
        class_square += static_cast<double>(classes(c, j)) * classes(c, j);
      }
      double expected = product, value = found[c];
      if (model_.similarity == 0) {
        expected /= std::sqrt(square);
        size /= std::sqrt(square);
      } else if (model_.similarity == 2) {  // squares, as the distance of near points is inexact
        expected = square + class_square - 2 * product;
        value *= value;
        size += square + class_square;
      }
      if (!std::isfinite(size)) {  // an int8 row with a huge scale; its products may still be finite
        require(model_.similarity != 2, "no distance from a class that is infinitely far");
        continue;
      }
      require(std::abs(expected - value) <= 1e-3 * size + 1e-30,
              "score " + std::to_string(c) + " is " + std::to_string(expected) + ", not " + std::to_string(value));
    }
  }

  /// Classes that compete, the best first, with gamma; equal scores by index.
  std::vector<std::pair<float, std::uint32_t>> ranking(const pnrt_bank* bank, const Exact<float>& all,
                                                       std::uint32_t among) const {
    std::vector<std::pair<float, std::uint32_t>> ranks;
    const float gamma = pnrt_gamma(&model_, bank);
    require(std::abs(gamma - model_.gamma) <= std::abs(model_.gamma_shift) * 1.001f + 1e-6f * std::abs(model_.gamma),
            "gamma moves by gamma_shift at most");
    for (std::uint32_t c = 0; c < all.size(); ++c) {
      const bool seen = c < model_.classes && model_.class_seen[c] == 1;
      if (pnrt_class_name(&model_, bank, c) != nullptr && (among == PNRT_ALL || (among == PNRT_SEEN) == seen))
        ranks.emplace_back(seen ? all[c] - gamma : all[c], c);
    }
    std::stable_sort(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    return ranks;
  }

  void check_verdict(const pnrt_query& query, const pnrt_verdict& verdict, const Exact<pnrt_match>& top,
                     const std::vector<std::pair<float, std::uint32_t>>& ranks) const {
    if (query.reject == 0 || ranks.empty()) {
      require(verdict.unknown == (ranks.empty() ? 1u : 0u), "unknown is what is not asked for only without classes");
      require(verdict.known_score == (query.reject == 0 ? 0 : -FLT_MAX), "no score of what is not judged");
      return;
    }
    const bool seen = top[0].index < model_.classes && model_.class_seen[top[0].index] == 1;
    const float *weight = model_.rejection + (seen ? 7 : 0), *low = model_.rejection + 14, *high = low + 6;
    require_finite(std::vector{verdict.known_score}, "known score");
    require(verdict.unknown == (verdict.known_score < model_.rejection[seen ? 27 : 26] ? 1u : 0u),
            "unknown is what is below the threshold");
    ++(verdict.unknown ? rejected : accepted);
    if (!(ranks[0].first >= low[0] && ranks[0].first <= high[0]))
      require(verdict.known_score == -FLT_MAX, "out of range is unlike everything");
    if (std::all_of(weight, weight + 6, [](float w) { return w == 0; }) && verdict.known_score != -FLT_MAX)
      require(verdict.known_score == weight[6], "without weights the intercept is left");
  }

  void classify(const pnrt_bank* bank, const Exact<float>& features, bool good, const Exact<float>& all) {
    Exact<std::byte> work(pnrt_work_bytes(&model_, bank));
    pnrt_query query{static_cast<std::uint32_t>(rng_.below(2)), static_cast<std::uint32_t>(rng_.below(3))};
    Exact<pnrt_match> top(1 + rng_.below(all.size() + 1));
    const auto k = static_cast<std::uint32_t>(top.size());
    pnrt_verdict verdict{};
    const auto call = [&](std::size_t bytes) {
      return pnrt_classify(&model_, bank, features.data(), &query, top.data(), k, &verdict, work.data(), bytes);
    };
    require(call(work.size() - 1) == PNRT_NO_MEMORY, "less working memory than needed is refused");
    if (query.reject == 1 && model_.rejection == nullptr) {
      require(call(work.size()) == PNRT_NO_REJECTION, "no rejection without its sections");
      query.reject = 0;
    }
    const auto status = call(work.size());
    // An added class with a place that rounding of its attributes made infinite.
    const bool no_place = query.reject == 1 && bank != nullptr && bank->added > 0 && status == PNRT_NOT_FINITE;
    const bool well_done = well(query.reject == 1 ? "pnrt_classify with rejection" : "pnrt_classify", status);
    require(good == well_done || no_place, "pnrt_classify can what pnrt_scores can");
    if (!good || !well_done) return;
    const auto ranks = ranking(bank, all, query.among);
    require(verdict.count == std::min<std::size_t>(k, ranks.size()), "as many matches as there are classes");
    check_verdict(query, verdict, top, ranks);
    if (query.reject == 1 && integer_) {
      const pnrt_verdict fast = verdict;
      require(
          without_simd([&] { return call(work.size()); }) == PNRT_OK && std::memcmp(&fast, &verdict, sizeof fast) == 0,
          "the same verdict with and without SIMD");
    }
    float sum = 0;
    for (std::uint32_t i = 0; i < verdict.count; ++i) {
      require(top[i].index == ranks[i].second && top[i].score == ranks[i].first, "best first, ties by index");
      require(top[i].confidence >= 0 && top[i].confidence <= 1, "confidence within 0 and 1");
      sum += top[i].confidence;
    }
    require(verdict.count == 0 || verdict.count < ranks.size() || (sum > 0.999f && sum < 1.001f),
            "confidences add up to 1");
  }

  void explain(const pnrt_bank* bank, const Exact<float>& features, bool good, const Exact<float>& all) {
    Exact<std::byte> work(pnrt_work_bytes(&model_, bank));
    Exact<float> contributions(model_.attributes), predicted(model_.attributes);
    const bool predict_too = rng_.below(2) == 0;
    pnrt_explanation why{};
    const auto call = [&](pnrt_explanation& result, const Exact<float>& amounts) {
      return pnrt_explain(&model_, bank, features.data(), &result, amounts.data(),
                          predict_too ? predicted.data() : nullptr, work.data(), work.size());
    };
    const auto status = call(why, contributions);
    if (integer_) {
      pnrt_explanation plain_why{};
      Exact<float> plain(model_.attributes);
      require(without_simd([&] { return call(plain_why, plain); }) == status,
              "the same verdict of pnrt_explain with and without SIMD");
      require(status != PNRT_OK || (std::memcmp(&why, &plain_why, sizeof why) == 0 &&
                                    std::memcmp(contributions.data(), plain.data(), 4 * plain.size()) == 0),
              "the same explanation with and without SIMD");
    }
    const auto ranks = ranking(bank, all, PNRT_ALL);
    // Predicted attributes come before the classes are looked at, and need not be finite where scores are.
    if (good && !(predict_too && status == PNRT_NOT_FINITE))
      require((status == PNRT_NOT_FOUND) == ranks.empty(), "nothing to explain without classes");
    if (status == PNRT_NOT_FOUND || !well("pnrt_explain", status)) return;
    require(good, "pnrt_explain cannot what pnrt_scores cannot");
    require_finite(contributions, "contributions");
    if (predict_too) require_finite(predicted, "predicted attributes");
    require_finite(std::vector{why.calibration, why.examples}, "explanation");
    const auto& second = ranks[ranks.size() > 1 ? 1 : 0];
    require(why.winner == ranks[0].second && why.winner_score == ranks[0].first, "the best class wins");
    require(why.runner_up == second.second && why.runner_up_score == second.first, "the second best is second");
  }

  /// Scores, after everything that is made of them was checked.
  Exact<float> judge(const pnrt_bank* bank, const Exact<float>& features, bool& good) {
    auto all = scores(bank, features, good);
    classify(bank, features, good, all);
    explain(bank, features, good, all);
    return all;
  }

  /// Scores of `slots` that have a class in both must be equal bit for bit.
  void require_same(const Exact<float>& before, const Exact<float>& after, std::uint32_t but) const {
    for (std::size_t c = 0; c < std::min(before.size(), after.size()); ++c)
      require(c == but || std::memcmp(&before[c], &after[c], 4) == 0, "other scores stay as they are");
  }

  pnrt_status add(pnrt_bank& bank, const char* name, std::uint32_t* index) {
    const auto attributes = random_values(model_.attributes);
    Exact<std::byte> work(pnrt_work_bytes(&model_, &bank));
    const auto status = pnrt_add_class(&bank, name, attributes.data(), index, work.data(), work.size());
    if (status == PNRT_NOT_FINITE) ++not_finite["pnrt_add_class"];
    return status;
  }

  /// Learns from samples of which no call may fail but for what is not finite; returns the saved bank.
  std::vector<std::byte> learn(pnrt_bank& bank, const std::vector<Exact<float>>& samples) {
    Exact<std::byte> work(pnrt_work_bytes(&model_, &bank));
    require(pnrt_forget(&bank) == PNRT_OK, "what was learned is forgotten");
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto slot = static_cast<std::uint32_t>(i % pnrt_class_slots(&model_, &bank));
      const char* name = pnrt_class_name(&model_, &bank, slot);
      std::uint32_t moved = 0;
      well("pnrt_adapt", pnrt_adapt(&bank, samples[i].data(), 1, &moved, work.data(), work.size()));
      require(moved <= pnrt_class_slots(&model_, &bank), "no more classes move than there are");
      if (i % 3 == 0 && name != nullptr)
        well("pnrt_teach", pnrt_teach(&bank, name, samples[i].data(), 1, work.data(), work.size()));
    }
    std::vector<std::byte> saved(pnrt_saved_bytes(&bank));
    require(pnrt_bank_save(&bank, saved.data(), saved.size()) == PNRT_OK, "a bank can be saved");
    return saved;
  }

  void check_learning(pnrt_bank& bank, const Exact<float>& features) {
    bool before = false, after = false;
    const auto stored = scores(&bank, features, before);
    Exact<std::byte> memory(pnrt_learning_bytes(&bank));
    require((model_.support > 0) == (memory.size() > 0), "class space, and only that, can learn");
    const auto status = pnrt_bank_learn(&bank, memory.data(), memory.size());
    require(status == (model_.support > 0 ? PNRT_OK : PNRT_CANNOT_LEARN), "learning memory is attached");
    if (status != PNRT_OK) return;
    std::vector<Exact<float>> samples;
    for (int i = 0; i < 12; ++i) samples.push_back(random_values(model_.features));
    const auto saved = learn(bank, samples);
    const auto learned = judge(&bank, features, after);
    if (integer_)
      require(without_simd([&] { return learn(bank, samples); }) == saved, "the same is learned with and without SIMD");
    require(pnrt_forget(&bank) == PNRT_OK, "what was learned is forgotten");
    const auto back = scores(&bank, features, after);
    require(before == after, "nothing is left of what was learned");
    if (before) require(std::memcmp(stored.data(), back.data(), 4 * back.size()) == 0, "forgetting restores scores");
    require(pnrt_bank_load(&bank, saved.data(), saved.size()) == PNRT_OK, "a saved bank can be loaded");
    const auto again = scores(&bank, features, after);
    if (after) require(std::memcmp(learned.data(), again.data(), 4 * again.size()) == 0, "loading restores scores");
    bank.learning = nullptr;  // the memory ends here
  }

  void use(const DeviceInfo& info, const Exact<std::byte>& file) {
    const auto features = random_values(model_.features);
    bool predicted = false, good = false, still = false;
    const auto prediction = predict(features, predicted);
    const auto first = judge(nullptr, features, good);
    require(predicted || !good, "no scores without a prediction");
    if (good) check_scores(info, file, prediction, first);

    constexpr std::uint32_t capacity = 2, none = 0xffffffff;
    Exact<std::byte> memory(pnrt_bank_bytes(&model_, capacity));
    pnrt_bank bank{};
    require(pnrt_bank_init(&bank, &model_, capacity, memory.data(), memory.size()) == PNRT_OK, "a bank");
    const auto with_bank = scores(&bank, features, still);
    require(good == still, "an empty bank changes nothing");
    if (good) require_same(first, with_bank, none);

    const char* name = "newcomer";
    std::uint32_t index = none;
    const bool known = std::find(info.class_names.begin(), info.class_names.end(), name) != info.class_names.end();
    const auto added = add(bank, name, &index);
    require((added == PNRT_EXISTS) == known, "a known name is refused");
    require(known || added == PNRT_OK || added == PNRT_NOT_FINITE, "a class is added or its values refused");
    if (added != PNRT_OK) return;
    require(index == model_.classes && std::strcmp(pnrt_class_name(&model_, &bank, index), name) == 0, "its name");
    const auto more = judge(&bank, features, still);
    if (good && still) require_same(with_bank, more, index);
    check_learning(bank, features);

    require(pnrt_remove_class(&bank, name) == PNRT_OK, "the class goes again");
    require(pnrt_remove_class(&bank, name) == PNRT_NOT_FOUND, "a class goes once");
    const auto back = scores(&bank, features, still);
    require(good == still, "a class that went leaves nothing behind");
    if (good) require(std::memcmp(with_bank.data(), back.data(), 4 * back.size()) == 0, "removal restores all scores");

    // A class of the model goes, and one of its name (if not too long) comes in its place.
    const auto victim = static_cast<std::uint32_t>(rng_.below(model_.classes));
    const std::string& freed = info.class_names[victim];
    require(pnrt_remove_class(&bank, freed.c_str()) == PNRT_OK, "a class of the model goes");
    std::uint32_t found = none;
    require(pnrt_find_class(&model_, &bank, freed.c_str(), &found) == PNRT_NOT_FOUND, "a removed class is not found");
    const auto fewer = judge(&bank, features, still);
    require(still || !good, "fewer classes are no harder");
    if (good) require_same(with_bank, fewer, victim);
    const auto again = add(bank, freed.c_str(), &index);
    require((again == PNRT_BAD_NAME) == (freed.size() >= PNRT_NAME_BYTES), "long names are refused");
    require(again == PNRT_OK || again == PNRT_NOT_FINITE || again == PNRT_BAD_NAME, "its name is free");
    if (again != PNRT_OK) return;
    require(pnrt_find_class(&model_, &bank, freed.c_str(), &found) == PNRT_OK && found == index,
            "the new one is found");
    if (add(bank, name, nullptr) != PNRT_OK) return;
    require(add(bank, "one too many", nullptr) == PNRT_FULL, "a bank is full at its capacity");
    check_learning(bank, features);
    judge(&bank, features, still);
  }

  const Bytes& file_;
  std::string origin_;
  Rng rng_;
  pnrt_model model_{};
  bool integer_ = false;  ///< all matrices are int8
};

class Counts {
 public:
  void add(pnrt_status status) { ++by_status_[status]; }
  std::size_t of(pnrt_status status) const { return by_status_[status]; }
  void print(const char* title) const {
    std::printf("%s:", title);
    for (int s = 0; s <= PNRT_FULL; ++s)
      if (by_status_[s] > 0) std::printf("  %zu '%s'", by_status_[s], pnrt_status_text(static_cast<pnrt_status>(s)));
    std::printf("\n");
  }

 private:
  std::size_t by_status_[PNRT_FULL + 1] = {};
};

int check_files(int count, char** paths) {
  for (int i = 0; i < count; ++i) {
    std::ifstream in(paths[i], std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    Bytes file(text.size());
    std::memcpy(file.data(), text.data(), text.size());
    for (std::uint64_t stream = 0; stream < 20; ++stream) {
      const auto status = Trial(file, paths[i], stream).run();
      if (stream == 0) std::printf("%s: %s\n", paths[i], pnrt_status_text(status));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  char* end = nullptr;
  const std::uint64_t mutations = argc > 1 ? std::strtoull(argv[1], &end, 10) : 100000;
  if (argc > 1 && *end != '\0') return check_files(argc - 1, argv + 1);

  std::vector<Seed> seeds;
  for (const auto& kind : parsnets::test::device_kinds()) seeds.push_back(make_seed(kind.name, kind, 1));
  const std::size_t fixed = seeds.size();
  Rng rng(5);
  for (int i = 0; i < 60; ++i)
    seeds.push_back(make_seed("random " + std::to_string(i), parsnets::test::random_kind(rng), 100 + i));

  Counts untouched, resized, mutated;
  std::uint64_t stream = 1u << 31;
  for (const auto& seed : seeds)
    for (int i = 0; i < 20; ++i) untouched.add(Trial(seed.bytes, "'" + seed.name + "' as it is", stream++).run());
  untouched.print("valid files");
  for (std::size_t s = 0; s < fixed; ++s)
    for (std::size_t size = 0; size < seeds[s].bytes.size() + 64; ++size) {
      if (size == seeds[s].bytes.size()) continue;
      Bytes file = seeds[s].bytes;
      file.resize(size);
      const std::string origin = "'" + seeds[s].name + "' with " + std::to_string(size) + " bytes";
      resized.add(Trial(file, origin, stream++).run());
      parsnets::test::mend(file);
      resized.add(Trial(file, origin + ", mended", stream++).run());
    }
  resized.print("files of another length");
  for (std::uint64_t i = 0; i < mutations; ++i) {
    const Mutator mutator(seeds, i);
    mutated.add(Trial(mutator.file, mutator.origin, i).run());
  }
  mutated.print("mutated files");
  for (const auto& [function, count] : Trial::not_finite)
    std::printf("%s returned '%s' %zu times\n", function.c_str(), pnrt_status_text(PNRT_NOT_FINITE), count);
  std::printf("rejection: %zu samples unknown, %zu known\n", Trial::rejected, Trial::accepted);
  const std::pair<bool, const char*> failures[] = {
      {untouched.of(PNRT_OK) != 20 * seeds.size() || resized.of(PNRT_OK) != 0,
       "a valid file was refused, or one of a wrong length accepted"},
      {Trial::rejected < 100 || Trial::accepted < 100,
       "rejection gave nearly always the same verdict, which leaves it untested"},
      {50 * mutated.of(PNRT_OK) < mutations,
       "fewer than 2 % of the mutated files were accepted, which leaves the runtime untested"}};
  for (const auto& [failed, what] : failures)
    if (failed) {
      std::printf("FAILED: %s\n", what);
      return 1;
    }
  return 0;
}
