// What must hold for any data set: orders and scales that mean nothing change nothing, and odd data sets train or are
// refused, but never give values that are not finite. Every property is tried on made-up sets of random sizes.

#include <cmath>
#include <limits>

#include "base/rng.hpp"
#include "small_training.hpp"

namespace parsnets {

namespace {

constexpr std::uint64_t kSets = 6;
const std::vector<std::string> kClosedForms{"ridge", "eszsl", "sae", "parsnets"};

Dataset random_set(std::uint64_t seed) {
  Rng rng(seed, 91);
  const auto from = [&](int low, int high) {
    return low + static_cast<int>(rng.below(static_cast<unsigned>(high - low)));
  };
  return synthesize({.classes = from(7, 14),
                     .attributes = from(4, 12),
                     .samples = from(150, 300),
                     .dimensions = from(6, 24),
                     .attribute_noise = 0.3,
                     .nuisance_dimensions = 4,
                     .hidden = 16,
                     .seed = seed});
}

/// parsnets is its closed form alone: anchors of gates depend on the order of the samples that they are drawn from.
TrainOptions options_of(const std::string& method, const std::string& more = "") {
  return test::options_with(method, (method == "parsnets" ? "networks=0;" : "") + more);
}

Matrix<float> scores_of(const Dataset& data, const TrainOptions& options) {
  ThreadPool pool(1);
  return train(data, options, pool).scores(data.features.view(), pool);
}

/// Row i is the row order[i] of `from`.
Matrix<float> rows_in(const Matrix<float>& from, const std::vector<std::size_t>& order) {
  Matrix<float> out(order.size(), from.cols());
  for (std::size_t r = 0; r < order.size(); ++r) std::ranges::copy(from.row(order[r]), out.row(r).begin());
  return out;
}

double largest(const Matrix<float>& values) {
  double most = 0;
  for (const float value : values.values()) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

/// The same up to rounding, relative to the largest score; `row` and `col` say where a value of `a` is in `b`.
template <class Row, class Col>
void expect_same(const Matrix<float>& a, const Matrix<float>& b, const Row& row, const Col& col) {
  ASSERT_EQ(a.rows(), b.rows());
  ASSERT_EQ(a.cols(), b.cols());
  double difference = 0;
  for (std::size_t r = 0; r < a.rows(); ++r)
    for (std::size_t c = 0; c < a.cols(); ++c)
      difference = std::max(difference, std::abs(static_cast<double>(a(r, c)) - b(row(r), col(c))));
  EXPECT_LT(difference, 2e-3 * largest(a));
  EXPECT_TRUE(std::isfinite(difference));
}

constexpr auto kSame = [](std::size_t i) { return i; };

void for_each_set(const std::function<void(std::uint64_t, const std::string&)>& check) {
  for (std::uint64_t seed = 1; seed <= kSets; ++seed)
    for (const auto& method : kClosedForms) {
      SCOPED_TRACE(method + ", set " + std::to_string(seed));
      check(seed, method);
    }
}

/// Odd data may be refused, in words; what is trained gives finite scores. Returns whether it was trained.
bool trains_or_refuses(const Dataset& data, const TrainOptions& options) {
  try {
    const Matrix<float> scores = scores_of(data, options);
    for (const float score : scores.values()) EXPECT_TRUE(std::isfinite(score));
    return true;
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::cancelled) << error.what();
    return false;
  }
}

}  // namespace

TEST(Properties, TheOrderOfSamplesMeansNothing) {
  for_each_set([](std::uint64_t seed, const std::string& method) {
    const Dataset data = random_set(seed);
    Dataset other = random_set(seed);
    const auto order = Rng(seed, 92).permutation(data.samples());
    std::vector<std::size_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    other.features = rows_in(data.features, order);
    for (std::size_t i = 0; i < order.size(); ++i) other.labels[i] = data.labels[order[i]];
    for (auto* list : {&other.split.trainval, &other.split.test_seen, &other.split.test_unseen, &other.split.train,
                       &other.split.val})
      for (auto& sample : *list) sample = static_cast<std::int32_t>(place[static_cast<std::size_t>(sample)]);
    expect_same(
        scores_of(data, options_of(method)), scores_of(other, options_of(method)),
        [&](std::size_t r) { return place[r]; }, kSame);
  });
}

TEST(Properties, TheOrderOfClassesMeansNothing) {
  for_each_set([](std::uint64_t seed, const std::string& method) {
    const Dataset data = random_set(seed);
    Dataset other = random_set(seed);
    const auto order = Rng(seed, 92).permutation(data.classes());
    std::vector<std::size_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      other.class_names[i] = data.class_names[order[i]];
    }
    other.semantics.values = rows_in(data.semantics.values, order);
    for (auto& label : other.labels) label = static_cast<std::int32_t>(place[static_cast<std::size_t>(label)]);
    expect_same(scores_of(data, options_of(method)), scores_of(other, options_of(method)), kSame,
                [&](std::size_t c) { return place[c]; });
  });
}

TEST(Properties, TheOrderOfAttributesMeansNothing) {
  for_each_set([](std::uint64_t seed, const std::string& method) {
    const Dataset data = random_set(seed);
    Dataset other = random_set(seed);
    const auto order = Rng(seed, 92).permutation(data.semantics.values.cols());
    for (std::size_t a = 0; a < order.size(); ++a) {
      if (!other.semantics.attribute_names.empty())
        other.semantics.attribute_names[a] = data.semantics.attribute_names[order[a]];
      for (std::size_t c = 0; c < data.classes(); ++c)
        other.semantics.values(c, a) = data.semantics.values(c, order[a]);
    }
    expect_same(scores_of(data, options_of(method)), scores_of(other, options_of(method)), kSame, kSame);
  });
}

TEST(Properties, AUnitOfFeaturesMeansNothing) {
  for_each_set([](std::uint64_t seed, const std::string& method) {
    const Dataset data = random_set(seed);
    for (const float unit : {1024.0f, 1.0f / 4096}) {
      Dataset other = random_set(seed);
      for (float& value : other.features.values()) value *= unit;
      expect_same(scores_of(data, options_of(method)), scores_of(other, options_of(method)), kSame, kSame);
    }
  });
}

TEST(Properties, DuplicatesConstantsAndZerosTrain) {
  for_each_set([](std::uint64_t seed, const std::string& method) {
    Dataset same = random_set(seed);  // all training samples of a class are one
    for (const std::int32_t sample : same.split.trainval) {
      const auto s = static_cast<std::size_t>(sample);
      for (const std::int32_t first : same.split.trainval)
        if (const auto f = static_cast<std::size_t>(first); same.labels[f] == same.labels[s]) {
          std::ranges::copy(same.features.row(f), same.features.row(s).begin());
          break;
        }
    }
    EXPECT_TRUE(trains_or_refuses(same, options_of(method)));
    Dataset constant = random_set(seed);
    for (std::size_t r = 0; r < constant.samples(); ++r) {
      constant.features(r, 0) = 3;
      constant.features(r, 1) = 0;
      if (r % 7 == 0) std::ranges::fill(constant.features.row(r), 0.0f);
    }
    EXPECT_TRUE(trains_or_refuses(constant, options_of(method)));
    Dataset nothing = random_set(seed);
    std::ranges::fill(nothing.features.values(), 0.0f);
    trains_or_refuses(nothing, options_of(method));
  });
}

TEST(Properties, ClassesOfOneSampleAndFewerSamplesThanFeaturesTrain) {
  for_each_set([](std::uint64_t seed, const std::string& method) {
    Dataset data = random_set(seed);
    std::vector<int> left(data.classes(), 1);
    std::vector<std::int32_t> kept;
    for (const std::int32_t sample : data.split.trainval)
      if (left[static_cast<std::size_t>(data.labels[static_cast<std::size_t>(sample)])]-- > 0) kept.push_back(sample);
    data.split.trainval = kept;
    data.split.train.clear();
    data.split.val.clear();
    EXPECT_LT(kept.size(), data.classes());
    EXPECT_TRUE(trains_or_refuses(data, options_of(method)));
  });
}

TEST(Properties, OneAttributeTrains) {
  for_each_set([](std::uint64_t seed, const std::string& method) {
    Dataset data = random_set(seed);
    Matrix<float> one(data.classes(), 1);
    for (std::size_t c = 0; c < data.classes(); ++c) one(c, 0) = data.semantics.values(c, 0) + 0.1f;
    data.semantics.values = std::move(one);
    if (!data.semantics.attribute_names.empty()) data.semantics.attribute_names.resize(1);
    EXPECT_TRUE(trains_or_refuses(data, options_of(method)));
  });
}

TEST(Properties, OneNetworkAndAllNetworksTrain) {
  for (std::uint64_t seed = 1; seed <= kSets; ++seed)
    for (const char* networks :
         {"networks=1;active=1;encoding=4", "networks=4;active=4;encoding=4", "networks=4;active=1;encoding=4"})
      for (const char* method : {"parsnets", "scln"}) {
        SCOPED_TRACE(std::string(method) + ", " + networks + ", set " + std::to_string(seed));
        EXPECT_TRUE(trains_or_refuses(random_set(seed), test::options_with(method, networks)));
      }
}

TEST(Properties, ValuesThatAreNotFiniteAreRefusedAndTinyOnesAreNot) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for_each_set([](std::uint64_t seed, const std::string& method) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
      Dataset data = random_set(seed);
      Rng rng(seed, 93);
      const auto sample = static_cast<std::size_t>(data.split.trainval[rng.below(data.split.trainval.size())]);
      data.features(sample, rng.below(data.features.cols())) = bad;
      EXPECT_FALSE(trains_or_refuses(data, options_of(method)));
    }
    Dataset tiny = random_set(seed);
    for (std::size_t r = 0; r < tiny.samples(); r += 3) tiny.features(r, 0) = std::numeric_limits<float>::denorm_min();
    EXPECT_TRUE(trains_or_refuses(tiny, options_of(method)));
    Dataset huge = random_set(seed);
    for (float& value : huge.features.values()) value *= 1e36f;
    trains_or_refuses(huge, options_of(method));
  });
}

}  // namespace parsnets
