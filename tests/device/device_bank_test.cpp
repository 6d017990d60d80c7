#include "device/device_bank.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <numeric>

#include "../../runtime/tests/stream.h"
#include "base/file.hpp"
#include "base/linalg.hpp"
#include "data/sample_set.hpp"
#include "device/device_file_builder.hpp"
#include "expect.hpp"
#include "parsnets/field.hpp"
#include "paths.hpp"
#include "pool_test.hpp"
#include "small_device.hpp"

namespace parsnets {
namespace {

using test::small_model;
using test::small_samples;
using test::SmallBank;
using DeviceBank = test::PoolTest;

std::vector<std::byte> golden_file(const std::string& name) {
  const std::string text = read_text_file(std::string(PARSNETS_SOURCE_DIR) + "/runtime/tests/" + name);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Matrix<float> stream_samples(const pnrt_model& model, std::uint32_t first, std::uint32_t count) {
  Matrix<float> x(count, model.features);
  for (std::uint32_t i = 0; i < count; ++i) stream_sample(first + i, model.features, x.row(i).data());
  return x;
}

/// What the bank should do, in double precision.
class Reference {
 public:
  explicit Reference(const SmallBank& device) : model_(device.model) {
    for (std::uint32_t c = 0; c < pnrt_class_slots(&device.model, &device.bank); ++c) {
      if (device.name(c) == nullptr) continue;
      const auto v = device.vector_of(c);
      stored_.emplace_back(v.begin(), v.end());
      seen_.push_back(c < model_.classes && model_.class_seen[c] != 0);
    }
    vectors = stored_;
    sums_.assign(stored_.size(), std::vector<double>(model_.outputs));
    support.assign(stored_.size(), 0);
  }

  void adapt(const float* x, std::uint32_t count) {
    std::vector<std::vector<double>> fresh(stored_.size(), std::vector<double>(model_.outputs));
    std::vector<double> n(stored_.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto f = compared(x + static_cast<std::size_t>(i) * model_.features);
      if (length(f) < model_.least_length * std::sqrt(static_cast<double>(model_.outputs))) {
        ++left_out;
        continue;
      }
      std::vector<double> share(stored_.size());
      double best = -1e300, sum = 0;
      for (std::size_t c = 0; c < share.size(); ++c) {
        share[c] = std::inner_product(f.begin(), f.end(), vectors[c].begin(), 0.0) / length(f) -
                   (seen_[c] ? static_cast<double>(model_.gamma) : 0.0);
        best = std::max(best, share[c]);
      }
      for (auto& v : share) sum += v = std::exp(model_.sharpness * (v - best));
      for (std::size_t c = 0; c < share.size(); ++c) {
        const double r = share[c] / sum;
        if (seen_[c] || r < static_cast<double>(model_.certainty)) continue;
        n[c] += r;
        for (std::size_t j = 0; j < model_.outputs; ++j) fresh[c][j] += r * f[j] / length(f);
      }
    }
    const double memory = 10.0 * model_.strength;
    for (std::size_t c = 0; c < stored_.size(); ++c) {
      const double keep = std::max(0.0, 1 - n[c] / memory), all = keep * support[c] + n[c],
                   cut = all > memory ? memory / all : 1;
      support[c] = cut * all;
      for (std::size_t j = 0; j < model_.outputs; ++j) sums_[c][j] = cut * (keep * sums_[c][j] + fresh[c][j]);
      if (n[c] > 0 && support[c] >= 3) place(c);
    }
  }

  std::vector<std::vector<double>> vectors;
  std::vector<double> support;
  std::size_t left_out = 0;

 private:
  static double length(const std::vector<double>& v) {
    return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
  }

  std::vector<double> compared(const float* x) const {
    std::vector<float> f(model_.outputs), work(pnrt_work_bytes(&model_, nullptr) / 4 + 1);
    EXPECT_EQ(pnrt_predict(&model_, x, f.data(), nullptr, work.data(), work.size() * 4), PNRT_OK);
    std::vector<double> out(f.begin(), f.end());
    for (std::size_t j = 0; j < out.size(); ++j)
      out[j] -= model_.semantic_centre != nullptr ? static_cast<double>(model_.semantic_centre[j]) : 0.0;
    return out;
  }

  void place(std::size_t c) {
    const double old = length(stored_[c]);
    auto& v = vectors[c];
    for (std::size_t j = 0; j < model_.outputs; ++j) v[j] = model_.strength * stored_[c][j] / old + sums_[c][j];
    const double now = length(v);
    for (std::size_t j = 0; j < model_.outputs; ++j) v[j] *= old / now;
  }

  const pnrt_model& model_;
  std::vector<std::vector<double>> stored_, sums_;
  std::vector<bool> seen_;
};

/// The number after `word` in a golden file.
std::uint32_t golden_sum(const std::string& file, const std::string& word) {
  std::ifstream in(std::string(PARSNETS_SOURCE_DIR) + "/runtime/tests/" + file);
  for (std::string found, value; in >> found >> value;)
    if (found == word) return static_cast<std::uint32_t>(std::stoul(value, nullptr, 16));
  ADD_FAILURE() << file << " has no " << word;
  return 0;
}

pnrt_status add_stream_class(SmallBank& device) {
  std::vector<float> attributes(device.model.attributes);
  return stream_add_class(&device.bank, attributes.data(), device.work.data(), device.work_bytes());
}

/// A bank that has been through everything: an added class, a removed one, taught ones and moved ones.
void live(SmallBank& device) {
  std::vector<float> batch(kStreamBatch * device.model.features);
  std::uint32_t moves = 0;
  ASSERT_EQ(add_stream_class(device), PNRT_OK);
  ASSERT_EQ(stream_adapt(&device.bank, 600, batch.data(), &moves, device.work.data(), device.work_bytes()), PNRT_OK);
  ASSERT_GT(moves, 0u);
  const auto x = stream_samples(device.model, 5, 4);
  ASSERT_EQ(device.teach("added", x.data(), 4), PNRT_OK);
  ASSERT_EQ(device.teach(device.name(0), x.data(), 1), PNRT_OK);
  ASSERT_EQ(device.remove(device.name(5)), PNRT_OK);
}

TEST_F(DeviceBank, TenThousandSamplesMoveClassesToTheSameBitsOnEveryPathAndCompiledForSize) {
  for (const std::string kind : {"golden_classes", "golden_rejection"})
    for (const bool scalar : {false, true}) {
      SmallBank device(golden_file(kind + ".pnrt"));
      if (scalar) device.model.path = PNRT_SCALAR;
      std::vector<float> batch(kStreamBatch * device.model.features), vector(device.model.outputs);
      std::uint32_t moves = 0, crc = 0xffffffff;
      ASSERT_EQ(add_stream_class(device), PNRT_OK);
      ASSERT_EQ(
          stream_adapt(&device.bank, kStreamSamples, batch.data(), &moves, device.work.data(), device.work_bytes()),
          PNRT_OK);
      ASSERT_EQ(stream_feed_places(&device.bank, vector.data(), &crc), PNRT_OK);
      // runtime/tests compares the same number in builds of the runtime alone, -O3 and -Os.
      EXPECT_EQ(~crc, golden_sum(kind + ".txt", "adapted")) << kind;
    }
}

TEST_F(DeviceBank, TenThousandSamplesMoveClassesAsInDoublePrecision) {
  for (const std::string kind : {"golden_classes.pnrt", "golden_rejection.pnrt"}) {
    SmallBank device(golden_file(kind));
    ASSERT_EQ(add_stream_class(device), PNRT_OK);
    Reference reference(device);
    const auto before = device.vectors();
    for (std::uint32_t first = 0, batch = 0; first < 10000; first += batch) {
      batch = std::min(first / 100 % 2 ? 7u : 1u, 10000 - first);
      const auto x = stream_samples(device.model, first, batch);
      ASSERT_EQ(device.adapt(x.data(), batch), PNRT_OK);
      reference.adapt(x.data(), batch);
    }
    double worst = 0, furthest = 0;
    const auto after = device.vectors();
    for (std::size_t c = 0; c < after.size(); ++c)
      for (std::size_t j = 0; j < after[c].size(); ++j) {
        worst = std::max(worst, std::abs(after[c][j] - reference.vectors[c][j]));
        furthest = std::max<double>(furthest, std::abs(after[c][j] - before[c][j]));
      }
    EXPECT_LT(worst, 1e-3) << kind;
    EXPECT_GT(furthest, 0.1) << kind << ": the samples must move something";
    EXPECT_GT(std::ranges::count_if(reference.support, [](double n) { return n >= 3; }), 2) << kind;
    EXPECT_GT(reference.left_out, 100u) << kind << ": some samples must be too short";
  }
}

TEST_F(DeviceBank, ExamplesDrawAClassTowardsThem) {
  for (const char* kind : {"classes", "classes linear"})
    for (const Precision precision : {Precision::float32, Precision::int8}) {
      SCOPED_TRACE(kind);
      const Model model = small_model(kind, pool);
      const std::size_t o = model.outputs();
      const DeviceModel device(device_file(model, precision, 0, pool), "device");
      const std::vector<std::byte> file(device.bytes().begin(), device.bytes().end());
      const Matrix<float> x = small_samples(50);
      Matrix<float> samples = device.predict(x.view(), pool);
      std::vector<double> sum(o);
      for (std::size_t r = 0; r < x.rows(); ++r) {
        for (std::size_t j = 0; j < model.semantic_centre.size(); ++j) samples(r, j) -= model.semantic_centre[j];
        const double length = std::sqrt(dot(samples.row(r), samples.row(r)));
        for (std::size_t j = 0; j < o; ++j) sum[j] += samples(r, j) / length;
      }
      for (const std::size_t c : {std::size_t{0}, model.classes.names.size() - 1}) {  // seen, unseen
        SmallBank bank(file), one(file);
        const char* name = model.classes.names[c].c_str();
        const auto before = bank.vectors();
        ASSERT_EQ(bank.teach(name, x.data(), x.rows()), PNRT_OK);
        const auto after = bank.vectors();
        std::vector<double> expected(o);
        const double old = dot(before[c], before[c]);
        for (std::size_t j = 0; j < o; ++j)
          expected[j] = model.field.example_prior * before[c][j] / std::sqrt(old) + sum[j];
        const double now = std::inner_product(expected.begin(), expected.end(), expected.begin(), 0.0);
        for (std::size_t j = 0; j < o; ++j) EXPECT_NEAR(after[c][j], expected[j] * std::sqrt(old / now), 1e-5);
        for (std::size_t other = 0; other < before.size(); ++other)
          EXPECT_TRUE(other == c || after[other] == before[other]);

        const float unknown = one.scores(x.data())[c];
        ASSERT_EQ(one.teach(name, x.data(), 1), PNRT_OK);
        EXPECT_GT(one.scores(x.data())[c], unknown);
        // Examples one after the other are worth the same as all at once, up to rounding.
        for (std::size_t r = 1; r < x.rows(); ++r) ASSERT_EQ(one.teach(name, x.row(r).data(), 1), PNRT_OK);
        const auto stepwise = one.vector_of(c);
        for (std::size_t j = 0; j < o; ++j) EXPECT_NEAR(stepwise[j], after[c][j], 1e-5);
      }
    }
}

TEST_F(DeviceBank, AdaptingMovesClassesAndGammaAsTheCarefulFormOfTheLibrary) {
  std::size_t parts = 0;  // models of which some unseen classes move, but not all
  for (const char* kind : {"classes", "classes linear", "classes tables"})
    for (const bool of_one_class : {false, true}) {
      SCOPED_TRACE(std::string(kind) + (of_one_class ? ", samples like one unseen class" : ""));
      Model model = small_model(kind, pool);
      model.field.strong.reset();
      model.field.gamma_shift = -0.03;
      Matrix<float> x = small_samples(300);
      if (of_one_class) {
        const Matrix<float> all = model.scores(x.view(), pool);
        const auto one = std::ranges::find(model.classes.seen, 0) - model.classes.seen.begin();
        std::vector<std::int32_t> rows;
        for (std::size_t r = 0; r < all.rows(); ++r)
          if (std::ranges::max_element(all.row(r)) - all.row(r).begin() == one)
            rows.push_back(static_cast<std::int32_t>(r));
        x = gather_rows(x.view(), rows);
      }
      const std::size_t count = x.rows();
      ASSERT_GT(count, 7u);
      std::vector<double> lengths;
      const Matrix<float> f = model.predict(x.view(), pool);
      for (std::size_t r = 0; r < f.rows(); ++r) {
        double square = 0;
        for (std::size_t j = 0; j < f.cols(); ++j)
          square += std::pow(f(r, j) - (model.semantic_centre.empty() ? 0.0f : model.semantic_centre[j]), 2);
        lengths.push_back(std::sqrt(square / static_cast<double>(f.cols())));
      }
      std::ranges::sort(lengths);
      model.field.least_length = (lengths[count / 8] + lengths[count / 8 + 1]) / 2;
      SmallBank device(device_file(model, Precision::float32, 0, pool));
      std::uint32_t moved = 0;
      ASSERT_EQ(device.adapt(x.data(), x.rows(), &moved), PNRT_OK);
      AdaptOptions once;
      once.rounds = 1;
      const Adaptation told = adapt(model, x.view(), once, pool);
      ASSERT_EQ(moved, told.classes);
      EXPECT_EQ(told.left_out, count / 8 + 1);
      const auto unseen = std::ranges::count(model.classes.seen, 0);
      parts += moved > 0 && moved < static_cast<std::size_t>(unseen) ? 1 : 0;
      const float gamma = pnrt_gamma(&device.model, &device.bank);
      EXPECT_NEAR(gamma, model.gamma, 1e-6);
      double follow = 0;
      for (const double n : model.classes.adapted.samples)
        follow += n / (n + model.field.strength) / static_cast<double>(unseen);
      EXPECT_NEAR(gamma, 0.05 - 0.015 * follow, 1e-6);
      EXPECT_LT(gamma, 0.0499);
      const Matrix<float> expected = model.class_vectors();
      for (std::size_t c = 0; c < expected.rows(); ++c) {
        const auto found = device.vector_of(c);
        const double length = std::sqrt(dot(expected.row(c), expected.row(c)));
        for (std::size_t j = 0; j < found.size(); ++j) EXPECT_NEAR(found[j], expected(c, j) / length, 1e-4);
      }
      Matrix<float> scores = model.scores(x.view(), pool);
      for (std::size_t r = 0; r < x.rows(); ++r) {
        pnrt_match best;
        pnrt_verdict verdict;
        ASSERT_EQ(pnrt_classify(&device.model, &device.bank, x.row(r).data(), nullptr, &best, 1, &verdict,
                                device.work.data(), device.work_bytes()),
                  PNRT_OK);
        for (std::size_t c = 0; c < scores.cols(); ++c)
          if (model.classes.seen[c] != 0) scores(r, c) -= static_cast<float>(model.gamma);
        EXPECT_NEAR(best.score, *std::ranges::max_element(scores.row(r)), 1e-4);
      }
      // A file of the adapted model leaves to the device what is left of the shift.
      const SmallBank next(device_file(model, Precision::float32, 0, pool));
      EXPECT_NEAR(next.model.gamma, model.gamma, 1e-6);
      EXPECT_NEAR(next.model.gamma_shift, -0.015 * (1 - follow), 1e-6);
      ASSERT_EQ(pnrt_forget(&device.bank), PNRT_OK);
      EXPECT_EQ(pnrt_gamma(&device.model, &device.bank), device.model.gamma);
    }
  EXPECT_GT(parts, 0u);
}

TEST_F(DeviceBank, GammaCountsTheClassesThatAreThere) {
  SmallBank device(golden_file("golden_classes.pnrt"));
  const pnrt_model& model = device.model;
  std::size_t unseen = 0;
  for (std::uint32_t c = 0; c < model.classes; ++c) unseen += model.class_seen[c] == 0 ? 1 : 0;
  const auto pile = stream_samples(model, 0, 400);
  std::uint32_t moved = 0;
  ASSERT_EQ(device.adapt(pile.data(), 400, &moved), PNRT_OK);
  ASSERT_GT(moved, 0u);
  const double shift = pnrt_gamma(&model, &device.bank) - model.gamma, follows = shift / model.gamma_shift;
  const double all = static_cast<double>(unseen);
  EXPECT_GT(follows, 0);
  EXPECT_LT(follows, moved / all);
  const auto expect_share = [&](double share) {
    EXPECT_NEAR(pnrt_gamma(&model, &device.bank) - model.gamma, shift * share, 1e-7);
  };
  // An added class has not moved, a removed one is none; examples move no gamma.
  ASSERT_EQ(add_stream_class(device), PNRT_OK);
  expect_share(all / (all + 1));
  ASSERT_EQ(device.teach("added", pile.data(), 5), PNRT_OK);
  expect_share(all / (all + 1));
  ASSERT_EQ(device.remove("added"), PNRT_OK);
  for (std::uint32_t c = 0; c < model.classes; ++c)
    if (model.class_seen[c] == 0) {
      ASSERT_EQ(device.remove(device.name(c)), PNRT_OK);
    }
  EXPECT_EQ(pnrt_gamma(&model, &device.bank), model.gamma);
  EXPECT_EQ(pnrt_gamma(&model, nullptr), model.gamma);
  EXPECT_EQ(pnrt_gamma(nullptr, nullptr), 0.0f);
}

TEST_F(DeviceBank, OnlyUnseenClassesAdaptAndOnlyWithThreeSamples) {
  SmallBank device(golden_file("golden_rejection.pnrt"));
  const auto before = device.vectors();
  const auto pile = stream_samples(device.model, 0, 400);
  std::uint32_t moved = 0;
  ASSERT_EQ(device.adapt(pile.data(), 400, &moved), PNRT_OK);
  const auto after = device.vectors();
  std::uint32_t differ = 0;
  for (std::size_t c = 0; c < before.size(); ++c) {
    if (before[c] == after[c]) continue;
    ++differ;
    EXPECT_EQ(device.model.class_seen[c], 0);
    EXPECT_NEAR(dot(after[c], after[c]), dot(before[c], before[c]), 1e-6) << "its length stays";
  }
  EXPECT_EQ(moved, differ);
  ASSERT_GT(differ, 1u);

  // One sample again and again: convincing, but less than a whole one each time.
  ASSERT_EQ(pnrt_forget(&device.bank), PNRT_OK);
  std::size_t convincing = pile.rows();
  for (std::size_t r = 0; r < pile.rows() && convincing == pile.rows(); ++r) {
    ASSERT_EQ(device.adapt(pile.row(r).data(), 1), PNRT_OK);
    if (pnrt_saved_bytes(&device.bank) > 32 + device.model.classes) convincing = r;
    ASSERT_EQ(pnrt_forget(&device.bank), PNRT_OK);
  }
  ASSERT_LT(convincing, pile.rows());
  std::vector<std::uint32_t> moves;
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(device.adapt(pile.row(convincing).data(), 1, &moved), PNRT_OK);
    moves.push_back(moved);
  }
  EXPECT_EQ((std::vector(moves.begin(), moves.begin() + 3)), (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(moves.back(), 1u);
}

TEST_F(DeviceBank, AdaptingToTheSameSamplesAgainAndAgainConverges) {
  SmallBank device(golden_file("golden_rejection.pnrt"));
  const auto pile = stream_samples(device.model, 0, 500);
  std::vector<std::vector<float>> last;
  for (int i = 0; i < 60; ++i) {
    last = device.vectors();
    ASSERT_EQ(device.adapt(pile.data(), 500), PNRT_OK);
  }
  const auto now = device.vectors();
  for (std::size_t c = 0; c < now.size(); ++c)
    for (std::size_t j = 0; j < now[c].size(); ++j) EXPECT_NEAR(now[c][j], last[c][j], 1e-5);
}

TEST_F(DeviceBank, ForgettingRestoresScoresToTheBit) {
  const Matrix<float> x = small_samples(100);
  for (const char* kind : {"classes", "classes linear", "classes tables"})
    for (const Precision precision : {Precision::float32, Precision::float16, Precision::int8}) {
      SCOPED_TRACE(kind);
      const Model model = small_model(kind, pool);
      SmallBank bank(device_file(model, precision, 0, pool), 1);
      const auto all_scores = [&] {
        std::vector<std::vector<float>> all;
        for (std::size_t r = 0; r < x.rows(); ++r) all.push_back(bank.scores(x.row(r).data()));
        return all;
      };
      ASSERT_EQ(bank.add("new", model.classes.semantics.row(2)), PNRT_OK);
      const auto before = all_scores();
      ASSERT_EQ(bank.adapt(x.data(), x.rows()), PNRT_OK);
      ASSERT_EQ(bank.teach("new", x.data(), x.rows()), PNRT_OK);
      ASSERT_EQ(bank.teach(bank.name(0), x.data(), x.rows()), PNRT_OK);
      EXPECT_NE(all_scores(), before);
      ASSERT_EQ(pnrt_forget(&bank.bank), PNRT_OK);
      const auto after = all_scores();
      for (std::size_t r = 0; r < x.rows(); ++r) {
        const auto alone = bank.SmallDevice::scores(x.row(r).data());
        EXPECT_EQ(std::memcmp(before[r].data(), after[r].data(), after[r].size() * 4), 0);
        EXPECT_EQ(std::memcmp(alone.data(), after[r].data(), alone.size() * 4), 0);
      }
    }
}

TEST_F(DeviceBank, ASavedBankGoesOnWhereItWas) {
  for (const std::string kind : {"golden_classes.pnrt", "golden_rejection.pnrt"}) {
    SmallBank first(golden_file(kind)), second(golden_file(kind), 5);
    live(first);
    if (HasFatalFailure()) return;
    const auto saved = first.save();
    std::vector<std::byte> unaligned(saved.size() + 1);
    std::ranges::copy(saved, unaligned.begin() + 1);
    ASSERT_EQ(pnrt_bank_load(&second.bank, unaligned.data() + 1, saved.size()), PNRT_OK);
    EXPECT_EQ(second.save(), saved);
    EXPECT_EQ(second.bank.added, 1u);
    EXPECT_EQ(pnrt_gamma(&second.model, &second.bank), pnrt_gamma(&first.model, &first.bank));
    EXPECT_NE(pnrt_gamma(&second.model, &second.bank), second.model.gamma);
    const auto pile = stream_samples(first.model, 900, 50);
    for (int round = 0; round < 2; ++round) {
      for (std::size_t r = 0; r < pile.rows(); ++r) {
        auto expected = first.scores(pile.row(r).data()), found = second.scores(pile.row(r).data());
        found.resize(expected.size());  // the larger bank has free slots behind
        EXPECT_EQ(std::memcmp(expected.data(), found.data(), found.size() * 4), 0) << kind;
      }
      ASSERT_EQ(first.adapt(pile.data(), 50), PNRT_OK);
      ASSERT_EQ(second.adapt(pile.data(), 50), PNRT_OK);
    }
    EXPECT_EQ(first.save(), second.save());
    // What the other bank held before is gone.
    SmallBank third(golden_file(kind));
    ASSERT_EQ(second.load(third.save()), PNRT_OK);
    EXPECT_EQ(second.bank.added, 0u);
    EXPECT_EQ(second.vectors(), third.vectors());
  }
}

TEST_F(DeviceBank, SavedBanksWithAnyByteChangedAreRefusedAndChangeNothing) {
  SmallBank source(golden_file("golden_rejection.pnrt")), device(golden_file("golden_rejection.pnrt"));
  live(source);
  const auto good = source.save();
  const auto pile = stream_samples(device.model, 0, 100);
  ASSERT_EQ(device.adapt(pile.data(), 100), PNRT_OK);
  const auto before = device.save();
  const auto places = device.vectors();
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const int flip : {1, 128, 255}) {
      auto bad = good;
      bad[at] ^= static_cast<std::byte>(flip);
      const pnrt_status status = device.load(bad);
      EXPECT_EQ(status, at < 8    ? PNRT_NOT_A_MODEL
                        : at < 12 ? PNRT_OTHER_VERSION
                        : at < 16 ? PNRT_TRUNCATED
                                  : PNRT_DAMAGED)
          << at;
    }
  for (std::size_t size = 1; size < good.size(); size += 1 + size / 50) {
    std::vector<std::byte> shorter(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(device.load(shorter), size < 8 ? PNRT_NOT_A_MODEL : PNRT_TRUNCATED);
  }
  auto longer = good;
  longer.push_back(std::byte{0});
  EXPECT_EQ(device.load(longer), PNRT_TRUNCATED);
  EXPECT_EQ(device.save(), before);
  EXPECT_EQ(device.vectors(), places);
}

TEST_F(DeviceBank, SavedBanksWithRightChecksumsAreRefusedOrHarmless) {
  for (const Precision precision : {Precision::float32, Precision::float16, Precision::int8}) {
    const auto file = device_file(small_model("classes", pool), precision, 0, pool);
    SmallBank source(file), device(file);
    const Matrix<float> x = small_samples(200);
    ASSERT_EQ(source.adapt(x.data(), 200), PNRT_OK);
    ASSERT_EQ(add_stream_class(source), PNRT_OK);
    ASSERT_EQ(source.teach("added", x.data(), 5), PNRT_OK);
    const auto good = source.save();
    std::size_t refused = 0, accepted = 0;
    std::vector<float> out(pnrt_class_slots(&device.model, &device.bank));
    for (std::size_t at = 20; at < good.size(); ++at)
      for (const int value : {0, 1, 0x7f, 0xff}) {
        auto bad = good;
        if (bad[at] == static_cast<std::byte>(value)) continue;
        bad[at] = static_cast<std::byte>(value);
        test::mend(bad);
        const auto before = device.save();
        if (device.load(bad) != PNRT_OK) {
          ++refused;
          ASSERT_EQ(device.save(), before) << at;
          continue;
        }
        ++accepted;
        ASSERT_EQ(device.save().size(), bad.size()) << at;
        const pnrt_status status =
            pnrt_scores(&device.model, &device.bank, x.data(), out.data(), device.work.data(), device.work_bytes());
        ASSERT_TRUE(status == PNRT_OK || status == PNRT_NOT_FINITE) << at;
        for (const float v : out) ASSERT_TRUE(status != PNRT_OK || std::isfinite(v)) << at;
        const pnrt_status adapted = device.adapt(x.data(), 2);
        ASSERT_TRUE(adapted == PNRT_OK || adapted == PNRT_NOT_FINITE) << at;
      }
    EXPECT_GT(refused, 50u);
    EXPECT_GT(accepted, 50u);
  }
}

TEST_F(DeviceBank, SavedBanksThatContradictThemselvesAreRefused) {
  SmallBank source(golden_file("golden_rejection.pnrt")), device(golden_file("golden_rejection.pnrt"));
  live(source);
  std::vector<float> attributes(source.model.attributes, 0.5f);
  ASSERT_EQ(source.add("other", attributes), PNRT_OK);
  const auto good = source.save();
  ASSERT_EQ(device.load(good), PNRT_OK);
  const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };  // int8 vectors, float16 attributes
  const std::size_t p = device.model.outputs, removed = 32, added = removed + padded(device.model.classes),
                    place = 76 + padded(device.model.outputs) + padded(2 * device.model.attributes), name = added + 12,
                    learned = added + 2 * place, one = 12 + 8 * p;
  ASSERT_EQ(std::memcmp(&good[name + place], "other", 6), 0);
  ASSERT_EQ((good.size() - learned) % one, 0u);
  const auto load_with = [&](std::size_t at, const void* bytes, std::size_t size) {
    auto bad = good;
    std::memcpy(&bad[at], bytes, size);
    test::mend(bad);
    return device.load(bad);
  };
  const auto u32 = [&](std::size_t at, std::uint32_t value) { return load_with(at, &value, 4); };
  const auto f32 = [&](std::size_t at, float value) { return load_with(at, &value, 4); };
  const std::string known = pnrt_class_name(&device.model, nullptr, 2),
                    gone = pnrt_class_name(&device.model, nullptr, 5);
  EXPECT_EQ(load_with(name, known.c_str(), known.size() + 1), PNRT_INVALID) << "a class of that name is there";
  EXPECT_EQ(load_with(name, gone.c_str(), gone.size() + 1), PNRT_OK) << "its name is free";
  EXPECT_EQ(load_with(name, "other", 6), PNRT_INVALID) << "two classes of one name";
  EXPECT_EQ(load_with(name, "", 1), PNRT_INVALID);
  EXPECT_EQ(load_with(name, std::string(64, 'x').data(), 64), PNRT_INVALID);
  EXPECT_EQ(u32(added, 1), PNRT_INVALID) << "two classes in one slot";
  EXPECT_EQ(u32(added + place, 2), PNRT_NO_MEMORY) << "a slot that this bank has not";
  EXPECT_EQ(u32(added + place, 0xffffffff), PNRT_NO_MEMORY);
  EXPECT_EQ(f32(added + 4, -1), PNRT_INVALID) << "a negative scale";
  EXPECT_EQ(f32(added + 4, std::numeric_limits<float>::infinity()), PNRT_INVALID);
  EXPECT_EQ(load_with(removed, "\2", 1), PNRT_INVALID);
  EXPECT_EQ(load_with(removed, "\1", 1), PNRT_INVALID) << "class 0 was taught, so it cannot have been removed";
  EXPECT_EQ(u32(24, 1), PNRT_INVALID) << "fewer classes than bytes";
  EXPECT_EQ(u32(28, 0xffffffff), PNRT_INVALID);
  EXPECT_EQ(u32(learned, 5), PNRT_INVALID) << "of a removed class";
  EXPECT_EQ(u32(learned + one, 0), PNRT_INVALID) << "the first class twice";
  EXPECT_EQ(u32(good.size() - one, 0x7fffffff), PNRT_INVALID) << "of no class";
  for (const float bad : {-1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(f32(learned + 4, bad), PNRT_INVALID);
    EXPECT_EQ(f32(learned + 8, bad), PNRT_INVALID);
  }
  EXPECT_EQ(f32(learned + 8, 10.1f * device.model.strength), PNRT_INVALID) << "more than can be remembered";
  EXPECT_EQ(f32(learned + 12, 1e6f), PNRT_INVALID) << "a sum that so few samples cannot have";
  EXPECT_EQ(f32(learned + 12 + 4 * p, std::numeric_limits<float>::quiet_NaN()), PNRT_INVALID);
  EXPECT_EQ(u32(20, source.model.checksum + 1), PNRT_OTHER_MODEL);
}

TEST_F(DeviceBank, WhatASavedBankNeedsIsChecked) {
  SmallBank source(golden_file("golden_rejection.pnrt")), other(golden_file("golden_classes.pnrt")),
      small(golden_file("golden_rejection.pnrt"), 0), forgetful(golden_file("golden_rejection.pnrt"));
  live(source);
  const auto saved = source.save();
  EXPECT_EQ(other.load(saved), PNRT_OTHER_MODEL);
  EXPECT_EQ(small.load(saved), PNRT_NO_MEMORY);
  forgetful.bank.learning = nullptr;
  EXPECT_EQ(forgetful.load(saved), PNRT_CANNOT_LEARN);
  ASSERT_EQ(pnrt_forget(&source.bank), PNRT_OK);
  EXPECT_EQ(forgetful.load(source.save()), PNRT_OK);
  EXPECT_EQ(forgetful.bank.added, 1u);
  EXPECT_EQ(pnrt_bank_load(nullptr, saved.data(), saved.size()), PNRT_BAD_ARGUMENT);
  EXPECT_EQ(pnrt_bank_load(&source.bank, nullptr, saved.size()), PNRT_BAD_ARGUMENT);
  std::vector<std::byte> buffer(pnrt_saved_bytes(&source.bank));
  EXPECT_EQ(pnrt_bank_save(&source.bank, buffer.data(), buffer.size() - 1), PNRT_NO_MEMORY);
  EXPECT_EQ(pnrt_bank_save(&source.bank, nullptr, buffer.size()), PNRT_BAD_ARGUMENT);
}

TEST_F(DeviceBank, SavedBanksBelongToTheirFeatures) {
  Model model = small_model("classes", pool);
  SmallBank unknown(device_file(model, Precision::int8, 0, pool));
  model.record.data.source = test::small_source();
  SmallBank own(device_file(model, Precision::int8, 0, pool)), again(own.file);
  model.record.data.source->sha256[0] = 'f';
  SmallBank other(device_file(model, Precision::int8, 0, pool));
  ASSERT_EQ(own.teach(own.name(0), small_samples(3).data(), 3), PNRT_OK);
  const auto saved = own.save();
  EXPECT_EQ(again.load(saved), PNRT_OK);
  EXPECT_EQ(again.save(), saved);
  EXPECT_EQ(unknown.load(saved), PNRT_OTHER_MODEL);
  EXPECT_EQ(other.load(saved), PNRT_OTHER_MODEL);
}

TEST_F(DeviceBank, ARemovedClassLeavesNothingBehind) {
  SmallBank device(golden_file("golden_rejection.pnrt"));
  const auto pile = stream_samples(device.model, 0, 300);
  const std::uint32_t slot = device.model.classes;
  ASSERT_EQ(add_stream_class(device), PNRT_OK);
  const auto fresh = device.vector_of(slot);
  ASSERT_EQ(device.teach("added", pile.data(), 20), PNRT_OK);
  ASSERT_EQ(device.adapt(pile.data(), 300), PNRT_OK);
  EXPECT_NE(device.vector_of(slot), fresh);
  ASSERT_EQ(device.remove("added"), PNRT_OK);
  EXPECT_EQ(device.teach("added", pile.data(), 1), PNRT_NOT_FOUND);
  std::vector<float> vector(device.model.outputs);
  EXPECT_EQ(pnrt_class_vector(&device.model, &device.bank, slot, vector.data()), PNRT_NOT_FOUND);
  ASSERT_EQ(device.adapt(pile.data(), 300), PNRT_OK);
  ASSERT_EQ(add_stream_class(device), PNRT_OK);
  EXPECT_EQ(device.vector_of(slot), fresh);

  // Without classes there is nothing to learn, and nothing breaks.
  for (std::uint32_t c = 0; c < pnrt_class_slots(&device.model, &device.bank); ++c)
    if (const char* name = device.name(c)) {
      ASSERT_EQ(device.remove(name), PNRT_OK);
    }
  std::uint32_t moved = 1;
  EXPECT_EQ(device.adapt(pile.data(), 300, &moved), PNRT_OK);
  EXPECT_EQ(moved, 0u);
}

TEST_F(DeviceBank, ExplanationsOfMovedClassesAddUp) {
  for (const std::string kind : {"golden_classes.pnrt", "golden_rejection.pnrt"}) {
    SmallBank device(golden_file(kind));
    live(device);
    std::vector<float> terms(device.model.attributes);
    const float gamma = pnrt_gamma(&device.model, &device.bank);
    ASSERT_NE(gamma, device.model.gamma);
    for (std::uint32_t number = 0; number < 50; ++number) {
      const auto x = stream_samples(device.model, number, 1);
      pnrt_explanation why;
      ASSERT_EQ(pnrt_explain(&device.model, &device.bank, x.data(), &why, terms.data(), nullptr, device.work.data(),
                             device.work_bytes()),
                PNRT_OK);
      const double sum = std::accumulate(terms.begin(), terms.end(), 0.0) + why.calibration + why.examples;
      EXPECT_NEAR(sum, why.winner_score - why.runner_up_score, 1e-5);
      const auto scores = device.scores(x.data());
      const bool seen = why.winner < device.model.classes && device.model.class_seen[why.winner] != 0;
      EXPECT_NEAR(why.winner_score, scores[why.winner] - (seen ? gamma : 0), 1e-6);
    }
  }
}

TEST_F(DeviceBank, RefusesWhatItCannotLearnFromAndChangesNothing) {
  SmallBank device(golden_file("golden_rejection.pnrt"));
  live(device);
  const auto before = device.save();
  auto pile = stream_samples(device.model, 0, 3);
  pile(2, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(device.adapt(pile.data(), 3), PNRT_NOT_FINITE);
  EXPECT_EQ(device.teach("added", pile.data(), 3), PNRT_NOT_FINITE);
  EXPECT_EQ(device.teach("nobody", pile.data(), 1), PNRT_NOT_FOUND);
  EXPECT_EQ(device.teach(nullptr, pile.data(), 1), PNRT_BAD_ARGUMENT);
  EXPECT_EQ(device.teach("added", nullptr, 1), PNRT_BAD_ARGUMENT);
  EXPECT_EQ(device.adapt(nullptr, 1), PNRT_BAD_ARGUMENT);
  const std::size_t work = pnrt_work_bytes(&device.model, &device.bank);
  void* odd = reinterpret_cast<char*>(device.work.data()) + 1;
  EXPECT_EQ(pnrt_adapt(&device.bank, pile.data(), 1, nullptr, device.work.data(), work - 1), PNRT_NO_MEMORY);
  EXPECT_EQ(pnrt_adapt(&device.bank, pile.data(), 1, nullptr, odd, work), PNRT_MISALIGNED);
  EXPECT_EQ(pnrt_adapt(nullptr, pile.data(), 1, nullptr, device.work.data(), work), PNRT_BAD_ARGUMENT);
  EXPECT_EQ(device.save(), before);

  const std::size_t needed = pnrt_learning_bytes(&device.bank);
  void* memory = device.learning.data();
  EXPECT_EQ(pnrt_bank_learn(&device.bank, memory, needed - 1), PNRT_NO_MEMORY);
  EXPECT_EQ(pnrt_bank_learn(&device.bank, static_cast<char*>(memory) + 2, needed), PNRT_MISALIGNED);
  EXPECT_EQ(pnrt_bank_learn(&device.bank, nullptr, needed), PNRT_BAD_ARGUMENT);
  EXPECT_EQ(pnrt_bank_learn(nullptr, memory, needed), PNRT_BAD_ARGUMENT);
  EXPECT_EQ(device.save(), before);

  device.bank.learning = nullptr;
  EXPECT_EQ(device.adapt(pile.data(), 1), PNRT_CANNOT_LEARN);
  EXPECT_EQ(device.teach("added", pile.data(), 1), PNRT_CANNOT_LEARN);
  EXPECT_EQ(pnrt_forget(&device.bank), PNRT_CANNOT_LEARN);
}

TEST_F(DeviceBank, IsSavedWithItsEditsAndSaysWhatIsWrong) {
  const Model model = small_model("classes", pool);
  const DeviceModel device(device_file(model, Precision::int8, 0, pool), "device");
  using Added = std::pair<std::string, std::span<const float>>;
  const auto attributes = model.classes.semantics.row(0);
  const std::string known = model.classes.names[0];
  const auto refused = [&](const std::vector<std::string>& removed, const Added& added, const std::string& field) {
    EXPECT_EQ(test::error_of([&] { saved_bank(device, removed, {&added, 1}); }).parts().field, field);
  };
  refused({}, {"new", attributes.first(3)}, "attributes");
  refused({}, {known, attributes}, "class '" + known + "'");
  refused({"nobody"}, {"new", attributes}, "class 'nobody'");
  const Added added{known, attributes};  // the name of a class that went is free
  const auto saved = saved_bank(device, std::span(&known, 1), {&added, 1});
  SmallBank bank({device.bytes().begin(), device.bytes().end()}, 1);
  ASSERT_EQ(bank.load(saved), PNRT_OK);
  EXPECT_EQ(bank.name(0), nullptr);
  EXPECT_STREQ(bank.name(model.classes.names.size()), known.c_str());
}

}  // namespace
}  // namespace parsnets
