#include "parsnets_rt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "parsnets/predictor.hpp"
#include "pool_test.hpp"
#include "small_device.hpp"

namespace parsnets {
namespace {

using test::small_model;
using test::SmallBank;
using test::SmallDevice;
using Runtime = test::PoolTest;

/// What pnrt_explain says.
struct Reason {
  pnrt_explanation why{};
  std::vector<float> contributions, predicted;

  double sum() const {
    return std::accumulate(contributions.begin(), contributions.end(), 0.0) + why.calibration + why.examples;
  }
};

Reason reason_of(const SmallDevice& device, const pnrt_bank* bank, const float* x) {
  std::vector<float> work(pnrt_work_bytes(&device.model, bank) / 4 + 1);
  Reason reason{{}, std::vector<float>(device.model.attributes), std::vector<float>(device.model.attributes)};
  EXPECT_EQ(pnrt_explain(&device.model, bank, x, &reason.why, reason.contributions.data(), reason.predicted.data(),
                         work.data(), work.size() * 4),
            PNRT_OK);
  return reason;
}

TEST_F(Runtime, ClassesAddedAtRunTimeScoreAsThoseOfTheLibraryAndMoveNoOther) {
  const Matrix<float> x = test::small_samples(20);
  for (const auto& kind : test::small_model_kinds()) {
    Model model = small_model(kind, pool);
    SmallBank bank(device_file(model, Precision::float32, 0, pool), 3);
    std::vector<float> attributes(model.attributes());
    for (std::size_t a = 0; a < attributes.size(); ++a)
      attributes[a] = (model.classes.semantics(1, a) + 2 * model.classes.semantics(5, a)) / 3;
    std::uint32_t index = 0;
    const auto before = bank.scores(x.row(0).data());
    ASSERT_EQ(bank.add("new", attributes, &index), PNRT_OK) << kind;
    EXPECT_EQ(index, bank.model.classes);
    EXPECT_STREQ(bank.name(index), "new");
    model.add_class("new", attributes);
    const Matrix<float> expected = model.scores(x.view(), pool);
    for (std::size_t r = 0; r < x.rows(); ++r) {
      const auto scores = bank.scores(x.row(r).data());
      EXPECT_NEAR(scores[index], expected(r, index), 1e-5) << kind;
      EXPECT_EQ(scores[index + 1], -std::numeric_limits<float>::max());
    }
    const auto after = bank.scores(x.row(0).data());
    EXPECT_EQ(std::memcmp(after.data(), before.data(), bank.model.classes * 4), 0) << kind;
  }
}

TEST_F(Runtime, ClassesAddedToAnInt8ModelScoreNearTheExportedOnes) {
  const Matrix<float> x = test::small_samples(40);
  for (const char* kind : {"linear", "anchor", "energy", "classes", "classes linear"}) {
    Model model = small_model(kind, pool);
    std::ranges::fill(model.classes.samples, 0.0f);  // an added class has none either
    SmallBank bank(device_file(model, Precision::int8, 0, pool), 1);
    const std::string name = model.classes.names[2];
    std::vector<std::vector<float>> before;
    for (std::size_t r = 0; r < x.rows(); ++r) before.push_back(bank.scores(x.row(r).data()));
    ASSERT_EQ(bank.remove(name), PNRT_OK);
    std::uint32_t index = 0;
    ASSERT_EQ(bank.add(name, model.classes.semantics.row(2), &index), PNRT_OK);
    for (std::size_t r = 0; r < x.rows(); ++r)
      EXPECT_NEAR(bank.scores(x.row(r).data())[index], before[r][2], 0.06) << kind;
  }
}

TEST_F(Runtime, ExplainsAsTheLibraryDoes) {
  const Matrix<float> x = test::small_samples(10);
  for (const auto& kind : test::small_model_kinds()) {
    const Model model = small_model(kind, pool);
    SmallDevice device(device_file(model, Precision::float32, 0, pool));
    for (std::size_t r = 0; r < x.rows(); ++r) {
      const Explanation expected = explain(model, x.row(r), pool);
      const auto [found, terms, predicted] = reason_of(device, nullptr, x.row(r).data());
      EXPECT_EQ(found.winner, static_cast<std::uint32_t>(expected.winner)) << kind;
      EXPECT_EQ(found.runner_up, static_cast<std::uint32_t>(expected.runner_up)) << kind;
      EXPECT_NEAR(found.winner_score, expected.winner_score, 1e-5) << kind;
      EXPECT_NEAR(found.calibration, expected.calibration, 1e-6) << kind;
      EXPECT_NEAR(found.examples, expected.examples, 1e-4) << kind;
      for (const auto& term : expected.attributes)
        EXPECT_NEAR(terms[term.index], term.amount, 1e-5 * (1 + std::abs(term.amount))) << kind;
      for (std::size_t a = 0; a < predicted.size(); ++a) EXPECT_NEAR(predicted[a], expected.predicted[a], 1e-5) << kind;
    }
  }
}

TEST_F(Runtime, ExplanationsOfRoundedModelsStayCloseAndAddUp) {
  const Matrix<float> x = test::small_samples(40);
  for (const char* kind : {"energy", "anchor", "classes", "classes linear"})
    for (const Precision precision : {Precision::float32, Precision::float16, Precision::int8}) {
      const Model model = small_model(kind, pool);
      SmallDevice device(device_file(model, precision, 0, pool));
      double error = 0, size = 0;
      for (std::size_t r = 0; r < x.rows(); ++r) {
        const Reason reason = reason_of(device, nullptr, x.row(r).data());
        ASSERT_NEAR(reason.sum(), reason.why.winner_score - reason.why.runner_up_score, 1e-5) << kind;
        const Explanation exact = explain(model, x.row(r), pool);
        if (static_cast<std::uint32_t>(exact.winner) != reason.why.winner ||
            static_cast<std::uint32_t>(exact.runner_up) != reason.why.runner_up)
          continue;  // rounding decided between equals
        for (const auto& term : exact.attributes) {
          error += std::abs(term.amount - reason.contributions[term.index]);
          size += std::abs(term.amount);
        }
        error += std::abs(exact.examples - reason.why.examples);
      }
      const double most = precision == Precision::float32 ? 1e-3 : precision == Precision::float16 ? 0.01 : 0.15;
      EXPECT_LT(error, most * size) << kind;
    }
}

TEST_F(Runtime, ExplainsAddedClassesAsTheLibraryDoes) {
  const Matrix<float> x = test::small_samples(10);
  for (const char* kind : {"anchor", "classes", "classes linear"}) {
    Model model = small_model(kind, pool);
    SmallBank bank(device_file(model, Precision::float32, 0, pool), 16);
    const std::size_t exported = model.classes.names.size();
    for (std::size_t c = 0; c < exported; ++c) {  // the bank alone: every class again, without its samples
      const std::string name = model.classes.names[c], again = "again " + name;
      std::vector<float> attributes(model.classes.semantics.row(c).begin(), model.classes.semantics.row(c).end());
      ASSERT_EQ(bank.remove(name), PNRT_OK);
      ASSERT_EQ(bank.add(again, attributes), PNRT_OK);
      model.add_class(again, attributes);
    }
    model.remove_classes(std::vector<std::string>(model.classes.names.begin(),
                                                  model.classes.names.begin() + static_cast<std::ptrdiff_t>(exported)));
    for (std::size_t r = 0; r < x.rows(); ++r) {
      const Explanation expected = explain(model, x.row(r), pool);
      const Reason found = reason_of(bank, &bank.bank, x.row(r).data());
      ASSERT_EQ(found.why.winner, exported + static_cast<std::size_t>(expected.winner)) << kind;
      EXPECT_NEAR(found.why.examples, 0, 1e-4) << kind;
      for (const auto& term : expected.attributes)
        EXPECT_NEAR(found.contributions[term.index], term.amount, 1e-5 * (1 + std::abs(term.amount))) << kind;
    }
  }
}

TEST_F(Runtime, RanksClassesWithScoresAndConfidencesAsTheLibraryDoes) {
  for (const auto& [kind, temperature] : {std::pair{"anchor", 0.0}, {"anchor", 1e-4}, {"classes", 0.0}}) {
    Model model = small_model(kind, pool);
    if (temperature > 0) model.temperature = temperature;  // else the model's own
    SmallDevice device(device_file(model, Precision::float32, 0, pool));
    const Matrix<float> x = test::small_samples(30);
    for (const Among among : {Among::all, Among::seen, Among::unseen}) {
      const Ranking ranking(model, among);
      std::vector<RankedClass> expected(std::min<std::size_t>(4, ranking.candidates().size()));
      for (std::size_t r = 0; r < x.rows(); ++r) {
        ranking.best(device.scores(x.row(r).data()), expected);
        pnrt_match top[4];
        pnrt_verdict verdict;
        const pnrt_query query{0, static_cast<std::uint32_t>(among)};
        ASSERT_EQ(pnrt_classify(&device.model, nullptr, x.row(r).data(), &query, top, 4, &verdict, device.work.data(),
                                device.work_bytes()),
                  PNRT_OK);
        ASSERT_EQ(verdict.count, expected.size());
        EXPECT_EQ(verdict.unknown, 0u);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(top[i].index, static_cast<std::uint32_t>(expected[i].class_index));
          EXPECT_EQ(top[i].score, expected[i].score);
          EXPECT_NEAR(top[i].confidence, expected[i].confidence, 1e-5);
        }
      }
    }
  }
}

TEST_F(Runtime, RemovesClassesAndReusesTheirPlaces) {
  const Model model = small_model("anchor", pool);
  SmallBank bank(device_file(model, Precision::int8, 2, pool), 2);
  const auto& names = model.classes.names;
  const auto some = model.classes.semantics.row(2);
  std::uint32_t first = 0, second = 0, found = 0;
  EXPECT_EQ(bank.add(names[3], some), PNRT_EXISTS);
  ASSERT_EQ(bank.add("a", some, &first), PNRT_OK);
  EXPECT_EQ(bank.add("a", some), PNRT_EXISTS);
  ASSERT_EQ(bank.add("b", some, &second), PNRT_OK);
  EXPECT_EQ(bank.add("c", some), PNRT_FULL);
  ASSERT_EQ(bank.remove("a"), PNRT_OK);
  EXPECT_EQ(bank.remove("a"), PNRT_NOT_FOUND);
  EXPECT_EQ(bank.name(first), nullptr);
  ASSERT_EQ(bank.add("c", some, &found), PNRT_OK);
  EXPECT_EQ(found, first);
  ASSERT_EQ(bank.remove(names[3]), PNRT_OK);
  EXPECT_EQ(pnrt_find_class(&bank.model, &bank.bank, names[3].c_str(), &found), PNRT_NOT_FOUND);
  EXPECT_EQ(pnrt_find_class(&bank.model, nullptr, names[3].c_str(), &found), PNRT_OK);
  ASSERT_EQ(bank.remove("b"), PNRT_OK);
  ASSERT_EQ(bank.add(names[3], some, &found), PNRT_OK);  // the name is free again
  EXPECT_EQ(found, second);
  ASSERT_EQ(pnrt_find_class(&bank.model, &bank.bank, names[3].c_str(), &found), PNRT_OK);
  EXPECT_EQ(found, second);
  const auto scores = bank.scores(test::small_samples(1).row(0).data());
  EXPECT_EQ(scores[3], -std::numeric_limits<float>::max());
}

/// Those below the best one of this machine, which a model may be set to.
std::vector<std::uint8_t> lower_paths(std::uint8_t best) {
  std::vector<std::uint8_t> paths;
  if (best != PNRT_SCALAR) paths.push_back(PNRT_SCALAR);
  if (best == PNRT_VNNI) paths.push_back(PNRT_AVX2);
  if (best == PNRT_DOT) paths.push_back(PNRT_NEON);
  return paths;
}

TEST_F(Runtime, PathsGiveTheSameBitsForInt8) {
  const Matrix<float> x = test::small_samples(100);
  for (const auto& kind : test::small_model_kinds())
    for (const std::size_t rank : {0u, 1u}) {
      SmallDevice device(device_file(small_model(kind, pool), Precision::int8, rank, pool));
      const std::uint8_t best = device.model.path;
      for (std::size_t r = 0; r < x.rows(); ++r) {
        device.model.path = best;
        const auto fast = device.scores(x.row(r).data());
        const Reason why = reason_of(device, nullptr, x.row(r).data());
        for (const std::uint8_t path : lower_paths(best)) {
          device.model.path = path;
          const auto plain = device.scores(x.row(r).data());
          const Reason plain_why = reason_of(device, nullptr, x.row(r).data());
          SCOPED_TRACE(kind + ", rank " + std::to_string(rank) + ", path " + std::to_string(path));
          ASSERT_EQ(std::memcmp(fast.data(), plain.data(), fast.size() * 4), 0);
          ASSERT_EQ(std::memcmp(&why.why, &plain_why.why, sizeof why.why), 0);
          ASSERT_EQ(why.contributions, plain_why.contributions);
          ASSERT_EQ(why.predicted, plain_why.predicted);
        }
      }
    }
}

TEST_F(Runtime, PathsAgreeButForRoundingWithFloats) {
  const Matrix<float> x = test::small_samples(20);
  for (const Precision precision : {Precision::float32, Precision::float16}) {
    SmallDevice device(device_file(small_model("anchor", pool), precision, 0, pool));
    const std::uint8_t best = device.model.path;
    for (std::size_t r = 0; r < x.rows(); ++r) {
      device.model.path = best;
      const auto fast = device.scores(x.row(r).data());
      for (const std::uint8_t path : lower_paths(best)) {
        device.model.path = path;
        const auto plain = device.scores(x.row(r).data());
        for (std::size_t c = 0; c < fast.size(); ++c) EXPECT_NEAR(plain[c], fast[c], 1e-5) << int{path};
      }
    }
  }
}

TEST_F(Runtime, AttributesHaveTheirNames) {
  Model model = small_model("anchor", pool);
  model.attribute_names.clear();
  const SmallDevice nameless(device_file(model, Precision::int8, 0, pool));
  EXPECT_EQ(pnrt_attribute_name(&nameless.model, 0), nullptr);
  for (std::size_t a = 0; a < model.attributes(); ++a)
    model.attribute_names.push_back("attribute " + std::to_string(a));
  const SmallDevice device(device_file(model, Precision::int8, 0, pool));
  for (std::uint32_t a = 0; a < device.model.attributes; ++a)
    EXPECT_STREQ(pnrt_attribute_name(&device.model, a), model.attribute_names[a].c_str());
  EXPECT_EQ(pnrt_attribute_name(&device.model, device.model.attributes), nullptr);
  EXPECT_EQ(pnrt_attribute_name(nullptr, 0), nullptr);
}

TEST_F(Runtime, ThreadsShareAModel) {
  SmallDevice device(device_file(small_model("anchor", pool), Precision::int8, 0, pool));
  const Matrix<float> x = test::small_samples(50);
  std::vector<std::vector<float>> expected;
  for (std::size_t r = 0; r < x.rows(); ++r) expected.push_back(device.scores(x.row(r).data()));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round)
        for (std::size_t r = 0; r < x.rows(); ++r) wrong[t] += device.scores(x.row(r).data()) != expected[r];
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST_F(Runtime, RefusesBadArgumentsWithACode) {
  const Model model = small_model("anchor", pool);
  SmallDevice device(device_file(model, Precision::int8, 0, pool));
  Matrix<float> x = test::small_samples(1);
  std::vector<float> scores(model.classes.names.size());
  const auto run = [&](const float* input, float* out, void* work, std::size_t bytes) {
    return pnrt_scores(&device.model, nullptr, input, out, work, bytes);
  };
  float* const work = device.work.data();
  EXPECT_EQ(run(nullptr, scores.data(), work, device.work_bytes()), PNRT_BAD_ARGUMENT);
  EXPECT_EQ(run(x.data(), nullptr, work, device.work_bytes()), PNRT_BAD_ARGUMENT);
  EXPECT_EQ(run(x.data(), scores.data(), nullptr, device.work_bytes()), PNRT_BAD_ARGUMENT);
  EXPECT_EQ(run(x.data(), scores.data(), work, pnrt_work_bytes(&device.model, nullptr) - 1), PNRT_NO_MEMORY);
  EXPECT_EQ(run(x.data(), scores.data(), reinterpret_cast<char*>(work) + 1, device.work_bytes()), PNRT_MISALIGNED);
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    x(0, 3) = bad;
    EXPECT_EQ(run(x.data(), scores.data(), work, device.work_bytes()), PNRT_NOT_FINITE);
  }
  SmallBank bank(device.file);
  std::vector<float> attributes(model.attributes(), 1.0f);
  EXPECT_EQ(bank.add("", attributes), PNRT_BAD_NAME);
  EXPECT_EQ(bank.add(std::string(PNRT_NAME_BYTES, 'x'), attributes), PNRT_BAD_NAME);
  EXPECT_EQ(bank.add(std::string(PNRT_NAME_BYTES - 1, 'x'), attributes), PNRT_OK);
  attributes[1] = NAN;
  EXPECT_EQ(bank.add("nan", attributes), PNRT_NOT_FINITE);
  pnrt_bank small;
  std::vector<float> memory(pnrt_bank_bytes(&device.model, 4) / 4);
  EXPECT_EQ(pnrt_bank_init(&small, &device.model, 4, memory.data(), memory.size() * 4 - 1), PNRT_NO_MEMORY);
  for (int s = 0; s < 20; ++s) EXPECT_NE(pnrt_status_text(static_cast<pnrt_status>(s)), nullptr);
}

TEST_F(Runtime, TellsWhichNetworkMakesTheFeatures) {
  for (const char* kind : {"anchor", "classes"}) {
    Model model = small_model(kind, pool);
    const SmallDevice unknown(device_file(model, Precision::int8, 0, pool));
    EXPECT_EQ(pnrt_feature_source(&unknown.model), nullptr);
    model.record.data.source = test::small_source();
    const SmallDevice device(device_file(model, Precision::int8, 0, pool));
    const pnrt_source* source = pnrt_feature_source(&device.model);
    ASSERT_NE(source, nullptr);
    const std::uint8_t start[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    EXPECT_TRUE(std::equal(start, start + 8, source->sha256));
    EXPECT_EQ(std::count(source->sha256 + 8, source->sha256 + 32, 0xee), 24);
    EXPECT_STREQ(source->layer, "features");
    EXPECT_STREQ(source->backbone, "net.onnx");
    EXPECT_EQ(source->dimensions, 12u);
    EXPECT_EQ(source->width, 96);
    EXPECT_EQ(source->height, 64);
    EXPECT_EQ(source->preset, 2);
    EXPECT_EQ(source->fit, 1);
    const auto* first = reinterpret_cast<const std::uint8_t*>(device.file.data());
    EXPECT_TRUE(source->sha256 > first && source->sha256 < first + device.file.size()) << "read where it lies";
  }
  EXPECT_EQ(pnrt_feature_source(nullptr), nullptr);
}

TEST_F(Runtime, WhatIsNoNumberIsNotCutToZero) {
  const Matrix<float> x = test::small_samples(1);
  for (const char* kind : {"relu", "euclidean"}) {
    Model model = small_model(kind, pool);
    for (std::size_t i = 0; i < model.networks.size(); ++i) model.networks.data()[i] = i % 2 == 0 ? 3e38f : -3e38f;
    SmallDevice device(device_file(model, Precision::float32, 0, pool));
    std::vector<float> scores(model.classes.names.size());
    EXPECT_EQ(pnrt_scores(&device.model, nullptr, x.data(), scores.data(), device.work.data(), device.work_bytes()),
              PNRT_NOT_FINITE)
        << kind;
  }
}

TEST_F(Runtime, AThousandAddedClassesMoveNoOtherScore) {
  const Model model = small_model("anchor", pool);
  SmallBank bank(device_file(model, Precision::int8, 0, pool), 1000);
  const Matrix<float> x = test::small_samples(1);
  const auto before = bank.scores(x.data());
  std::vector<float> attributes(model.attributes());
  for (std::size_t i = 0; i < 1000; ++i) {
    for (std::size_t a = 0; a < attributes.size(); ++a)
      attributes[a] = static_cast<float>((i * 31 + a * 17) % 101) / 100;
    ASSERT_EQ(bank.add("class number " + std::to_string(i), attributes), PNRT_OK);
  }
  EXPECT_EQ(bank.bank.added, 1000u);
  const auto after = bank.scores(x.data());
  EXPECT_EQ(std::memcmp(before.data(), after.data(), bank.model.classes * 4), 0);
  for (std::size_t c = bank.model.classes; c < after.size(); ++c) ASSERT_TRUE(std::abs(after[c]) <= 1.001f);
}

}  // namespace
}  // namespace parsnets
