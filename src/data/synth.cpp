#include "data/synth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "base/matrix_product.hpp"
#include "base/rng.hpp"
#include "data/folder.hpp"
#include "data/split.hpp"
#include "parsnets/error.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

namespace {

using Indices = std::vector<std::int32_t>;

enum Stream : std::uint64_t { kSemantics = 1, kClasses, kLabels, kSignature, kFirstLayer, kSecondLayer, kRows = 1000 };

Semantics generate_semantics(const SynthOptions& o) {
  Semantics semantics;
  semantics.name = "generated";
  semantics.values = Matrix<float>(static_cast<std::size_t>(o.classes), static_cast<std::size_t>(o.attributes));
  Rng rng(o.seed, kSemantics);
  // Attributes share a few latent causes, as real ones do, so that unseen classes are mixtures of what is seen.
  const std::size_t causes = std::max<std::size_t>(2, static_cast<std::size_t>(o.attributes) / 4);
  Matrix<float> loadings(causes, static_cast<std::size_t>(o.attributes));
  for (auto& v : loadings.values()) v = static_cast<float>(rng.normal());
  for (std::size_t c = 0; c < semantics.values.rows(); ++c) {
    std::vector<double> cause(causes);
    for (auto& v : cause) v = rng.normal();
    for (std::size_t a = 0; a < semantics.values.cols(); ++a) {
      double sum = 0;
      for (std::size_t k = 0; k < causes; ++k) sum += cause[k] * loadings(k, a);
      semantics.values(c, a) =
          static_cast<float>(100 / (1 + std::exp(-1.7 * sum / std::sqrt(static_cast<double>(causes)))));
    }
  }
  for (int a = 0; a < o.attributes; ++a) semantics.attribute_names.push_back(fmt::format("a{}", a + 1));
  return semantics;
}

/// Deals the samples of `list` to the classes evenly, in a drawn order.
void deal(const Indices& list, std::span<const std::int32_t> classes, Indices& labels, Rng& rng) {
  Indices order = list;
  rng.shuffle(order);
  for (std::size_t i = 0; i < order.size(); ++i)
    labels[static_cast<std::size_t>(order[i])] = classes[i % classes.size()];
}

/// Labels that agree with a split whose own labels are not known: its unseen samples get unseen classes, and so on.
void label_given_split(Dataset& data, const SynthOptions& o) {
  auto& split = data.split;
  const std::size_t total = split.trainval.size() + split.test_seen.size() + split.test_unseen.size();
  const auto share = [&](std::size_t part, std::size_t whole, std::size_t classes) {
    const auto n =
        static_cast<std::size_t>(std::llround(static_cast<double>(classes * part) / static_cast<double>(whole)));
    return std::clamp<std::size_t>(n, 1, classes - 1);
  };
  const std::size_t unseen =
      o.unseen > 0 ? static_cast<std::size_t>(o.unseen) : share(split.test_unseen.size(), total, data.classes());
  Indices classes(data.classes());
  std::iota(classes.begin(), classes.end(), 0);
  Rng(o.seed, kClasses).shuffle(classes);
  const std::span<const std::int32_t> seen = std::span(classes).subspan(unseen);
  data.labels.assign(total, 0);
  Rng rng(o.seed, kLabels);
  deal(split.test_unseen, std::span(classes).first(unseen), data.labels, rng);
  deal(split.test_seen, seen, data.labels, rng);
  if (split.val.empty()) {
    deal(split.trainval, seen, data.labels, rng);
  } else {
    const std::size_t validation = share(split.val.size(), split.trainval.size(), seen.size());
    deal(split.val, seen.first(validation), data.labels, rng);
    deal(split.train, seen.subspan(validation), data.labels, rng);
  }
}

void split_generated(Dataset& data, const SynthOptions& o) {
  data.labels.resize(static_cast<std::size_t>(o.samples));
  for (std::size_t i = 0; i < data.labels.size(); ++i) data.labels[i] = static_cast<std::int32_t>(i % data.classes());
  SplitOptions options;
  options.seed = o.seed;
  if (o.unseen > 0) options.unseen = o.unseen;
  if (options.unseen < 1 && options.unseen * static_cast<double>(data.classes()) < 1) options.unseen = 1;
  const ClassSplit classes = make_class_split(data.labels, data.classes(), options);
  data.split = split_from_classes(classes, data.labels);
  derive_validation(data.split, data.labels, classes.val_classes, o.seed);
}

/// Semantics scaled to mean 0 and variance 1 over the classes.
Matrix<float> standardised(const Matrix<float>& values) {
  Matrix<float> out(values.rows(), values.cols());
  for (std::size_t a = 0; a < values.cols(); ++a) {
    double mean = 0, square = 0;
    for (std::size_t c = 0; c < values.rows(); ++c) mean += values(c, a);
    mean /= static_cast<double>(values.rows());
    for (std::size_t c = 0; c < values.rows(); ++c) square += (values(c, a) - mean) * (values(c, a) - mean);
    const double sd = std::sqrt(square / static_cast<double>(values.rows()));
    for (std::size_t c = 0; c < values.rows(); ++c)
      out(c, a) = sd > 0 ? static_cast<float>((values(c, a) - mean) / sd) : 0.0f;
  }
  return out;
}

Matrix<float> normal_matrix(std::size_t rows, std::size_t cols, double scale, Rng rng) {
  Matrix<float> m(rows, cols);
  for (auto& v : m.values()) v = static_cast<float>(scale * rng.normal());
  return m;
}

/// Draws the features of any samples of a data set: what a sample gets depends on its number, not on those beside it.
class FeatureGenerator {
 public:
  FeatureGenerator(const Dataset& data, const SynthOptions& options, unsigned threads)
      : data_(data),
        o_(options),
        attributes_(standardised(data.semantics.values)),
        signatures_(normal_matrix(data.classes(), static_cast<std::size_t>(options.signature_dimensions),
                                  options.signature, Rng(options.seed, kSignature))),
        first_(normal_matrix(latent(), static_cast<std::size_t>(options.hidden),
                             1.5 / std::sqrt(static_cast<double>(latent())), Rng(options.seed, kFirstLayer))),
        second_(normal_matrix(static_cast<std::size_t>(options.hidden) + 1, dimensions(),
                              1.0 / std::sqrt(static_cast<double>(options.hidden)), Rng(options.seed, kSecondLayer))),
        pool_(threads) {}

  std::size_t dimensions() const { return static_cast<std::size_t>(o_.dimensions); }

  /// `first`: a multiple of kGrain; `out`: count x d. Products of other grains might round differently.
  void generate(std::size_t first, std::size_t count, float* out) {
    pool_.parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
      generate_grain(first + begin, end - begin, out + begin * dimensions());
    });
  }

  static constexpr std::size_t kGrain = 256;

 private:
  std::size_t latent() const {
    return attributes_.cols() + static_cast<std::size_t>(o_.signature_dimensions + o_.nuisance_dimensions);
  }

  void generate_grain(std::size_t first, std::size_t rows, float* out) const {
    const std::size_t m = attributes_.cols(), q = signatures_.cols(), all = latent(), d = dimensions();
    Matrix<float> inner(rows, all), middle(rows, static_cast<std::size_t>(o_.hidden));
    for (std::size_t r = 0; r < rows; ++r) {
      Rng rng(o_.seed, kRows + first + r);
      const auto c = static_cast<std::size_t>(data_.labels[first + r]);
      for (std::size_t a = 0; a < m; ++a)
        inner(r, a) = attributes_(c, a) + static_cast<float>(o_.attribute_noise * rng.normal());
      for (std::size_t s = 0; s < q; ++s) inner(r, m + s) = signatures_(c, s);
      for (std::size_t s = m + q; s < all; ++s) inner(r, s) = static_cast<float>(o_.nuisance * rng.normal());
    }
    const auto hidden = static_cast<std::size_t>(o_.hidden);
    gemm(Trans::no, Trans::no, rows, hidden, all, 1, inner.data(), all, first_.data(), hidden, 0, middle.data(),
         hidden);
    for (auto& v : middle.values()) v = std::tanh(v);
    gemm(Trans::no, Trans::no, rows, d, hidden, 1, middle.data(), hidden, second_.data(), d, 0, out, d);
    const float* offset = second_.row(static_cast<std::size_t>(o_.hidden)).data();
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < d; ++c) out[r * d + c] = std::max(0.0f, out[r * d + c] + offset[c]);
  }

  const Dataset& data_;
  SynthOptions o_;
  Matrix<float> attributes_, signatures_, first_, second_;
  ThreadPool pool_;
};

/// All but the features.
Dataset synthesize_classes(const SynthOptions& o, const Dataset* semantics_from) {
  Dataset data;
  data.name = "synthetic";
  data.features_name = "synth";
  data.generated = true;
  if (semantics_from != nullptr) {
    data.class_names = semantics_from->class_names;
    data.semantics.name = semantics_from->semantics.name;
    data.semantics.values = Matrix<float>::copy_of(semantics_from->semantics.values.view());
    data.semantics.attribute_names = semantics_from->semantics.attribute_names;
    data.semantics.tables = semantics_from->semantics.tables;
    data.split = semantics_from->split;
    data.labels = semantics_from->labels;
  } else {
    data.semantics = generate_semantics(o);
    for (int c = 0; c < o.classes; ++c) data.class_names.push_back(fmt::format("class{:03}", c + 1));
  }
  if (data.classes() < 3 || o.unseen > static_cast<int>(data.classes()) - 2)
    throw Error(ErrorCode::usage, fmt::format("{}: expected to leave at least 2 of {} classes seen, found {} unseen",
                                              option_name("unseen"), data.classes(), o.unseen));
  if (data.labels.empty()) data.split.trainval.empty() ? split_generated(data, o) : label_given_split(data, o);
  return data;
}

}  // namespace

Dataset synthesize(const SynthOptions& o, const Dataset* semantics_from, unsigned threads, ProgressObserver* progress) {
  Dataset data = synthesize_classes(o, semantics_from);
  FeatureGenerator generator(data, o, threads);
  data.features = Matrix<float>(data.samples(), generator.dimensions());
  constexpr std::size_t kBatch = 16 * FeatureGenerator::kGrain;
  for (std::size_t start = 0; start < data.samples(); start += kBatch) {
    report(progress, {"generate", start, data.samples(), "samples"});
    generator.generate(start, std::min(kBatch, data.samples() - start), data.features.row(start).data());
  }
  return data;
}

Dataset synthesize_to(const std::filesystem::path& folder, DataFormat format, const SynthOptions& o,
                      const Dataset* semantics_from, unsigned threads, ProgressObserver* progress) {
  Dataset data = synthesize_classes(o, semantics_from);
  FeatureGenerator generator(data, o, threads);
  const std::size_t d = generator.dimensions();
  Matrix<float> grains;  // the whole grains around the rows that are asked for
  const auto block = [&](std::size_t first, std::size_t count) {
    constexpr std::size_t kGrain = FeatureGenerator::kGrain;
    const std::size_t from = first / kGrain * kGrain,
                      to = std::min(data.samples(), (first + count + kGrain - 1) / kGrain * kGrain);
    report(progress, {"generate", first, data.samples(), "samples"});
    if (grains.rows() < to - from) grains = Matrix<float>(to - from, d);
    generator.generate(from, to - from, grains.data());
    return MatrixView<const float>(grains.row(first - from).data(), count, d);
  };
  save_dataset(data, {data.samples(), d, block}, folder, format);
  return data;
}

}  // namespace parsnets
