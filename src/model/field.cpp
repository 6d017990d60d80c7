#include "parsnets/field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/linalg.hpp"
#include "model/prediction.hpp"
#include "model/teaching.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr double kLeastSupport = 3;      ///< convincing samples without which a class does not move
constexpr double kMemory = 10;           ///< remembered samples per class, in units of β
constexpr double kStill = 1e-6;          ///< places that move less than this have arrived
constexpr std::size_t kBlockRows = 512;  ///< samples whose scores are in memory at once

void require_class_space(const Model& model) {
  if (model.targets != Targets::classes)
    throw Error(ErrorCode::usage, fmt::format("learning in the field needs a model of class space ({})",
                                              option_name("targets", "classes")));
}

void require_samples(MatrixView<const float> x, const char* what) {
  if (x.rows() == 0) throw Error(BadInput{what, "samples", "at least one", "none", ""});
}

std::size_t index_of(const Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.classes.names, name);
  if (found == model.classes.names.end())
    throw Error(BadInput{"class '" + name + "'", "name", "a class of the model", "none of that name",
                         "check the names of the model's classes"});
  return static_cast<std::size_t>(found - model.classes.names.begin());
}

void make_room(Experience& experience, const Model& model) {
  if (!experience.samples.empty()) return;
  experience.samples.assign(model.classes.names.size(), 0.0f);
  experience.sums = Matrix<float>(model.classes.names.size(), model.class_outputs(), 0.0f);
}

/// Predictions (n x o) as scores compare them: each head's part has its own length, the whole unit length.
Matrix<float> unit_predictions(const Model& model, Matrix<float> f) {
  centre_rows(model, f.view());
  for (std::size_t r = 0; r < f.rows(); ++r)
    if (const double length = std::sqrt(dot(f.row(r), f.row(r))); length > 0)
      for (float& v : f.row(r)) v = static_cast<float>(v / length);
  return f;
}

Matrix<float> unit_samples(const Model& model, MatrixView<const float> x, ThreadPool& pool) {
  return unit_predictions(model, model.predict(x, pool));
}

/// x̂: the part in class space at unit length.
std::vector<double> in_class_space(const Model& model, std::span<const float> unit) {
  const auto part = unit.first(model.class_outputs());
  const double length = std::sqrt(dot(part, part));
  std::vector<double> x(part.begin(), part.end());
  if (length > 0)
    for (double& v : x) v /= length;
  return x;
}

Matrix<float> unit_vectors(const Model& model) {
  Matrix<float> vectors = model.class_vectors();
  for (std::size_t c = 0; c < vectors.rows(); ++c)
    if (const double length = std::sqrt(dot(vectors.row(c), vectors.row(c))); length > 0)
      for (float& v : vectors.row(c)) v = static_cast<float>(v / length);
  return vectors;
}

/// What one round of expectation found.
struct Expectation {
  std::vector<double> support;  ///< C: Σ r
  Matrix<double> sums;          ///< C x p: Σ r·x̂
  std::size_t convincing = 0;   ///< samples assigned to a class that may move
  double likelihood = 0;        ///< mean of log Σ exp
};

/// Blocks of rows are summed in their order, whatever the number of threads.
Expectation expect(const Model& model, const Matrix<float>& samples, const Matrix<float>& vectors,
                   std::span<const std::uint8_t> may_move, ThreadPool& pool) {
  const std::size_t classes = vectors.rows(), placed = model.class_outputs(), n = samples.rows();
  const FieldSettings& field = model.field;
  const auto scale =
      static_cast<float>(std::sqrt(1 + model.head_weight));  // of the part in class space, to unit length
  Expectation found{std::vector<double>(classes, 0.0), Matrix<double>(classes, placed, 0.0), 0, 0};
  for (std::size_t first = 0; first < n; first += kBlockRows) {
    const std::size_t rows = std::min(kBlockRows, n - first);
    const MatrixView<const float> block(samples.row(first).data(), rows, samples.cols());
    Matrix<float> scores(rows, classes);
    multiply(pool, Trans::no, block, Trans::yes, vectors.view(), scores.view());
    std::vector<double> likelihood(rows);
    std::vector<std::int32_t> assigned(rows, -1);
    std::vector<double> responsibility(rows, 0.0);
    pool.parallel_for(rows, 64, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t r = begin; r < end; ++r) {
        double top = -1e300, sum = 0;
        std::size_t best = 0;
        for (std::size_t c = 0; c < classes; ++c) {
          const double z = field.sharpness * (scores(r, c) - (model.classes.seen[c] ? model.gamma : 0));
          scores(r, c) = static_cast<float>(z);
          if (z > top) {
            top = z;
            best = c;
          }
        }
        for (std::size_t c = 0; c < classes; ++c) sum += std::exp(scores(r, c) - top);
        likelihood[r] = top + std::log(sum);
        // θ is above one half in practice: at most one class is convincing. Below, the best one counts.
        if (may_move[best] && 1 / sum >= field.certainty) {
          assigned[r] = static_cast<std::int32_t>(best);
          responsibility[r] = 1 / sum;
        }
      }
    });
    for (std::size_t r = 0; r < rows; ++r) {
      found.likelihood += likelihood[r] / static_cast<double>(n);
      if (assigned[r] < 0) continue;
      const auto c = static_cast<std::size_t>(assigned[r]);
      ++found.convincing;
      found.support[c] += responsibility[r];
      for (std::size_t j = 0; j < placed; ++j) found.sums(c, j) += responsibility[r] * scale * block(r, j);
    }
  }
  return found;
}

double angle(std::span<const float> a, std::span<const float> b) {
  const double cosine = dot(a, b) / std::sqrt(std::max(dot(a, a) * dot(b, b), 1e-300));
  return std::acos(std::clamp(cosine, -1.0, 1.0)) * 180 / std::numbers::pi;
}

}  // namespace

Adaptation adapt(Model& model, MatrixView<const float> x, const AdaptOptions& options, ThreadPool& pool) {
  require_class_space(model);
  require_samples(x, "adaptation");
  const std::size_t classes = model.classes.names.size(), placed = model.class_outputs();
  std::vector<std::uint8_t> may_move(classes, 0);
  for (std::size_t c = 0; c < classes; ++c) may_move[c] = options.classes.empty() && !model.classes.seen[c];
  for (const auto& name : options.classes) may_move[index_of(model, name)] = 1;
  const Matrix<float> samples = unit_samples(model, x, pool), before = unit_vectors(model);
  make_room(model.classes.adapted, model);
  const Experience old{model.classes.adapted.samples, Matrix<float>::copy_of(model.classes.adapted.sums.view())};
  const double memory = kMemory * model.field.strength;
  Adaptation result;
  result.samples = x.rows();
  Matrix<float> vectors = Matrix<float>::copy_of(before.view());
  Expectation found = expect(model, samples, vectors, may_move, pool);
  const double likelihood = found.likelihood;
  for (double moved = 1; result.rounds < options.rounds && moved > kStill; ++result.rounds) {
    Experience& now = model.classes.adapted;
    for (std::size_t c = 0; c < classes; ++c) {
      const bool moves = found.support[c] >= kLeastSupport;
      const double kept = moves ? std::max(0.0, 1 - found.support[c] / memory) : 1,
                   sum = kept * old.samples[c] + (moves ? found.support[c] : 0), cut = sum > memory ? memory / sum : 1;
      now.samples[c] = static_cast<float>(cut * sum);
      for (std::size_t j = 0; j < placed; ++j)
        now.sums(c, j) = static_cast<float>(cut * (kept * old.sums(c, j) + (moves ? found.sums(c, j) : 0)));
    }
    Matrix<float> next = unit_vectors(model);
    moved = 0;
    for (std::size_t i = 0; i < next.size(); ++i)
      moved = std::max(moved, std::abs(static_cast<double>(next.data()[i]) - vectors.data()[i]));
    vectors = std::move(next);
    found = expect(model, samples, vectors, may_move, pool);
  }
  result.convincing = found.convincing;
  result.likelihood_gain = found.likelihood - likelihood;
  for (std::size_t c = 0; c < classes; ++c)
    if (may_move[c] && found.support[c] >= kLeastSupport)
      result.moves.push_back({static_cast<std::int32_t>(c), found.support[c], angle(before.row(c), vectors.row(c))});
  if (!is_adapted(model)) undo_adaptation(model);
  return result;
}

void undo_adaptation(Model& model) { model.classes.adapted = {}; }

bool is_adapted(const Model& model) {
  return std::ranges::any_of(model.classes.adapted.samples, [](float n) { return n > 0; });
}

void teach(Model& model, const std::string& name, MatrixView<const float> examples, ThreadPool& pool) {
  require_class_space(model);
  require_samples(examples, "examples");
  const std::size_t c = index_of(model, name);
  teach_predicted(model, c, model.predict(examples, pool));
}

void teach_predicted(Model& model, std::size_t c, Matrix<float> f) {
  const Matrix<float> samples = unit_predictions(model, std::move(f));
  Experience& taught = model.classes.taught;
  make_room(taught, model);
  std::vector<double> sum(taught.sums.row(c).begin(), taught.sums.row(c).end());
  for (std::size_t r = 0; r < samples.rows(); ++r) {
    const auto x = in_class_space(model, samples.row(r));
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += x[j];
  }
  taught.samples[c] += static_cast<float>(samples.rows());
  std::ranges::transform(sum, taught.sums.row(c).begin(), [](double v) { return static_cast<float>(v); });
}

void add_class_by_examples(Model& model, const std::string& name, MatrixView<const float> examples, ThreadPool& pool) {
  require_class_space(model);
  require_samples(examples, "examples");
  model.predict({examples.data(), 1, examples.cols()}, pool);  // a wrong number of features is found here
  model.add_class(name, std::vector<float>(model.attributes(), 0.0f));
  if (model.classes.described.empty()) model.classes.described.assign(model.classes.names.size(), 1);
  model.classes.described.back() = 0;
  try {
    teach(model, name, examples, pool);
  } catch (...) {
    model.remove_class(name);
    throw;
  }
}

}  // namespace parsnets
