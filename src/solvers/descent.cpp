#include "solvers/descent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/linalg.hpp"
#include "model/composite.hpp"
#include "parsnets/error.hpp"
#include "solvers/descent_loss.hpp"
#include "solvers/preconditioner.hpp"

namespace parsnets {

namespace {

constexpr int kHalvings = 30;
constexpr double kSufficient = 1e-4;  ///< part of the predicted fall that a step must reach

bool is_alone(const DescentSamples& s) { return s.group == nullptr || s.group->size() == 1; }

void check(const Model& model, const DescentSamples& s, const DescentOptions& o) {
  if (model.direction != Direction::forward)
    throw Error(ErrorCode::usage, "refinement: expected a model that maps features to semantics, found a reverse one");
  if (o.loss == DescentLoss::softmax && model.similarity != Similarity::cosine)
    throw Error(ErrorCode::usage, "refinement: expected similarity cosine");
  if (o.steps < 0 || !(o.sharpness > 0) || !(o.step > 0) || !(o.lambda > 0) || !(o.gate_weight >= 0) || !(o.mmg >= 0))
    throw Error(ErrorCode::usage,
                "refinement: expected steps >= 0, positive sharpness, step and lambda, and "
                "non-negative weights");
  if ((!s.kept || !is_alone(s)) && (o.mmg > 0 || model.relu))
    throw Error(ErrorCode::usage, fmt::format("{} and {} require all samples in the memory of one process",
                                              option_name("mmg"), option_name("relu")));
  if (s.labels.empty()) throw Error(BadInput{"refinement", "samples", "at least one", "none", ""});
}

void check_block(const Model& model, const SampleBlock& block, std::size_t labels) {
  if (block.x.cols() != model.dimensions || block.first + block.x.rows() > labels ||
      (!block.z.empty() && (block.z.rows() != block.x.rows() || block.open.rows() != block.x.rows())))
    throw Error(BadInput{"refinement", "samples", "as many rows and columns as the model has inputs",
                         fmt::format("{} x {} for {} labels", block.x.rows(), block.x.cols(), labels), ""});
}

double sum_of_products(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

void add_scaled(std::span<float> to, double factor, std::span<const float> what) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(to[i] + factor * what[i]);
}

/// MovingWeights of a model with the sum of their gradients and the direction of a step; both empty: they stay as they
/// are.
struct MovingWeights {
  MatrixView<float> now;
  Matrix<float> moments, direction;

  Matrix<float> after(double length) const {
    Matrix<float> moved = Matrix<float>::copy_of(now);
    if (!direction.empty()) add_scaled(moved.values(), length, direction.values());
    return moved;
  }
};

/// The networks of a model.
class Networks {
 public:
  Networks(Model& model, const DescentSamples& samples, const SampleBlocks& blocks, const DescentOptions& options,
           Processes& group, ThreadPool& pool)
      : model_(model), options_(options), pool_(pool), preconditioner_(*samples.preconditioner) {
    const std::size_t m = model.networks.cols();
    if (is_one_linear_map(model)) {
      shared_.now = {model.networks.data() + m, model.dimensions, m};
      return;
    }
    shared_.now = model.shared.view();
    gated_.now = model.networks.view();
    if (options.gate_weight > 0) gated_step_.emplace(blocks, model.gates.networks, options.lambda, group, pool);
  }

  bool is_linear() const { return !model_.relu; }

  /// f of a block.
  Matrix<float> outputs(const SampleBlock& block) const {
    return outputs_with(block, shared_.now, gated_.now, model_.bias);
  }

  /// f of a block after a step of `length` along the directions.
  Matrix<float> outputs_after(const SampleBlock& block, double length) const {
    return outputs_with(block, shared_.after(length).view(), gated_.after(length).view(), model_.bias);
  }

  /// What a step of length 1 adds to f of a block. Of networks that are linear.
  Matrix<float> change(const SampleBlock& block) const {
    return outputs_with(block, shared_.direction.view(), gated_.direction.view(),
                        std::vector<float>(model_.bias.size(), 0.0f));
  }

  /// Forgets all gradients.
  void clear_moments() {
    shared_.moments = Matrix<float>(shared_.now.rows(), shared_.now.cols(), 0.0f);
    if (gated_step_) gated_.moments = Matrix<float>(gated_.now.rows(), gated_.now.cols(), 0.0f);
  }
  /// Adds what directions need of dJ/df of a block.
  void add_gradient(const SampleBlock& block, MatrixView<const float> gradient) {
    multiply(pool_, Trans::yes, block.x, Trans::no, gradient, shared_.moments.view(), 1, 1);
    if (gated_step_) gated_step_->add_moments(block, gradient, gated_.now, model_.relu, gated_.moments.view(), pool_);
  }
  void sum_moments(Processes& group) {
    for (MovingWeights* weights : {&shared_, &gated_}) group.sum(weights->moments.values());
  }

  /// Directions of steepest preconditioned descent for the gradients added; `natural` scales them to a length of 1.
  void aim(double natural) {
    shared_.direction = Matrix<float>::copy_of(shared_.moments.view());
    if (options_.decay > 0) add_scaled(shared_.direction.values(), options_.decay, shared_.now.values());
    preconditioner_.solve(pool_, shared_.direction.view());
    if (gated_step_)
      gated_.direction =
          gated_step_->direction(gated_.moments.view(), options_.gate_weight, options_.decay, gated_.now, pool_);
    decay_slope_ = 0;
    for (MovingWeights* weights : {&shared_, &gated_}) {
      if (weights->direction.empty()) continue;
      for (float& v : weights->direction.values()) v = static_cast<float>(-natural * v);
      decay_slope_ += options_.decay * sum_of_products(weights->direction.values(), weights->now.values());
    }
  }

  void move(double length) {
    for (MovingWeights* weights : {&shared_, &gated_})
      if (!weights->direction.empty()) add_scaled(weights->now.values(), length, weights->direction.values());
  }

  /// ½ρ‖Θ‖² after a step of `length`.
  double decay(double length) const {
    if (options_.decay == 0) return 0;
    double squares = 0;
    for (const MovingWeights* weights : {&shared_, &gated_}) {
      const std::span<const float> now = weights->now.values(), direction = weights->direction.values();
      squares += sum_of_products(now, now);
      if (direction.empty() || length == 0) continue;
      squares += 2 * length * sum_of_products(now, direction) + length * length * sum_of_products(direction, direction);
    }
    return options_.decay * squares / 2;
  }
  double decay_slope() const { return decay_slope_; }  ///< of decay() at 0

  /// How the loss falls along the directions, as the moments of linear networks say.
  double slope_of_loss() const {
    double slope = 0;
    for (const MovingWeights* weights : {&shared_, &gated_})
      slope += sum_of_products(weights->moments.values(), weights->direction.values());
    return slope;
  }

 private:
  Matrix<float> outputs_with(const SampleBlock& block, MatrixView<const float> shared, MatrixView<const float> gated,
                             const std::vector<float>& bias) const {
    Matrix<float> f;
    if (!gated.empty()) {
      f = compose(block.z, block.open, model_.gates.networks, gated, bias, model_.relu, pool_);
    } else {
      f = Matrix<float>(block.x.rows(), bias.size());
      for (std::size_t l = 0; l < f.rows(); ++l) std::copy(bias.begin(), bias.end(), f.row(l).begin());
    }
    multiply(pool_, Trans::no, block.x, Trans::no, shared, f.view(), 1, 1);
    return f;
  }

  Model& model_;
  const DescentOptions& options_;
  ThreadPool& pool_;
  const Cholesky<float>& preconditioner_;
  MovingWeights shared_, gated_;
  std::optional<GatedDirection> gated_step_;
  double decay_slope_ = 0;
};

/// The samples of all processes under the networks: f of samples in memory is kept, of others it is made when needed.
class Pass {
 public:
  Pass(Networks& networks, const DescentSamples& samples, const SampleBlocks& blocks, std::size_t classes,
       std::size_t outputs, Processes& group, ThreadPool& pool)
      : networks_(networks),
        blocks_(blocks),
        kept_(samples.kept),
        group_(group),
        pool_(pool),
        slots_(samples.labels, classes, group),
        sums_(slots_, outputs) {}

  /// Known before the first measure() where a descent goes on.
  void set_natural(double natural) { natural_ = natural; }
  double natural() const { return natural_.value_or(0); }

  const ClassMeans& means() const { return means_; }

  void start() {
    blocks_([&](const SampleBlock& block) {
      Matrix<float> f = networks_.outputs(block);
      sums_.add(block.first, f.view(), pool_);
      if (kept_) f_ = std::move(f);
    });
    means_ = sums_.means(group_);
  }

  /// The loss at the present weights; with `moments` the networks get its gradient.
  LossOfOutputs::Value measure(const LossOfOutputs& loss, bool moments) {
    LossOfOutputs::Value value;
    double squares = 0;
    if (moments) networks_.clear_moments();
    blocks_([&](const SampleBlock& block) {
      Matrix<float> made;
      if (!kept_) made = networks_.outputs(block);
      const MatrixView<const float> f = kept_ ? f_.view() : made.view();
      if (moments) gradient_ = Matrix<float>(f.rows(), f.cols());
      const auto part = loss.evaluate(f, moments ? gradient_.view() : MatrixView<float>(), block.first);
      value.loss += part.loss;
      value.mmg += part.mmg;
      if (!natural_) squares += loss.centred_squares(f);
      if (moments) networks_.add_gradient(block, gradient_.view());
    });
    double sums[2] = {value.loss, squares};
    group_.sum(std::span<double>(sums));
    value.loss = sums[0];
    if (!natural_) natural_ = loss.natural_step(sums[1]);
    if (!moments) return value;
    networks_.sum_moments(group_);
    networks_.aim(*natural_);
    if (kept_ && networks_.is_linear()) blocks_([&](const SampleBlock& block) { change_ = networks_.change(block); });
    return value;
  }

  /// dJ/d(length) at 0.
  double slope() {
    if (networks_.is_linear()) return networks_.slope_of_loss() + networks_.decay_slope();
    constexpr double kSmall = 1e-3;
    Matrix<float> moved;
    blocks_([&](const SampleBlock& block) { moved = networks_.outputs_after(block, kSmall); });
    add_scaled(moved.values(), -1, f_.values());
    return sum_of_products(gradient_.values(), moved.values()) / kSmall + networks_.decay_slope();
  }

  /// The loss after a step of `length`.
  LossOfOutputs::Value try_step(const LossOfOutputs& loss, double length) {
    LossOfOutputs::Value value;
    blocks_([&](const SampleBlock& block) {
      if (kept_ && networks_.is_linear()) {
        moved_ = Matrix<float>::copy_of(f_.view());
        add_scaled(moved_.values(), length, change_.values());
      } else {
        moved_ = networks_.outputs_after(block, length);
      }
      const auto part = loss.evaluate(moved_.view(), {}, block.first);
      value.loss += part.loss;
      value.mmg += part.mmg;
      sums_.add(block.first, moved_.view(), pool_);
    });
    group_.sum(std::span<double>(&value.loss, 1));
    tried_ = sums_.means(group_);
    return value;
  }

  /// Makes the step that was tried last.
  void move(double length) {
    networks_.move(length);
    means_ = std::move(tried_);
    if (kept_) f_ = std::move(moved_);
  }

 private:
  Networks& networks_;
  const SampleBlocks& blocks_;
  bool kept_;
  Processes& group_;
  ThreadPool& pool_;
  ClassSlots slots_;
  ClassSums sums_;
  ClassMeans means_, tried_;
  Matrix<float> f_, change_, moved_, gradient_;
  std::optional<double> natural_;  ///< known after the first measure()
};

}  // namespace

SampleBlocks one_block(MatrixView<const float> x, MatrixView<const float> z, MatrixView<const std::uint16_t> open,
                       std::span<const std::int32_t> labels) {
  return [=](const auto& take) { take({0, x, z, open, labels}); };
}

bool is_one_linear_map(const Model& model) {
  return model.gates.kind == GateKind::always && !model.networks_see_encoding && !model.relu && model.shared.empty();
}

std::vector<ObjectiveStep> descend(Model& model, const DescentSamples& samples, const DescentOptions& options,
                                   ThreadPool& pool, ProgressObserver* progress, const DescentObserver& observer) {
  check(model, samples, options);
  SingleProcess alone;
  Processes& group = samples.group != nullptr ? *samples.group : alone;
  const SampleBlocks blocks = [&](const auto& take) {
    samples.blocks([&](const SampleBlock& block) {
      check_block(model, block, samples.labels.size());
      take(block);
    });
  };
  Networks networks(model, samples, blocks, options, group, pool);
  Pass pass(networks, samples, blocks, std::max(samples.semantics.rows(), model.classes.names.size()),
            model.networks.cols(), group, pool);
  const DescentPlace from = options.start.value_or(DescentPlace{0, options.step, 0, {}});
  if (options.start) pass.set_natural(from.natural);
  pass.start();
  const bool goes_on = (!observer || observer(from.steps, model, {pass.means(), from})) && options.steps > from.steps;
  DescentSamples compared = samples;
  Matrix<float> vectors;
  if (options.classes_follow) {
    vectors = model.class_vectors();
    compared.semantics = vectors.view();
  }
  LossOfOutputs loss(compared, model.semantic_centre, options, pool);
  auto value = pass.measure(loss, goes_on);
  double objective = value.objective(options.mmg) + networks.decay(0), length = from.length;
  std::vector<ObjectiveStep> steps = from.trace;
  if (steps.empty()) steps.push_back({objective, std::nullopt, value.loss, value.mmg, 0, 0.0});
  if (!goes_on) return steps;
  for (int step = from.steps + 1; step <= options.steps; ++step) {
    report(progress,
           {"refine", static_cast<std::uint64_t>(step - 1), static_cast<std::uint64_t>(options.steps), "steps"});
    const double slope = pass.slope();
    steps.back().slope = -slope;
    if (!(slope < 0)) break;
    length = std::min(options.step, 2 * length);
    double reached = 0;
    const auto falls_enough = [&] {
      value = pass.try_step(loss, length);
      reached = value.objective(options.mmg) + networks.decay(length);
      return reached <= objective + kSufficient * length * slope;
    };
    int halvings = 0;
    while (halvings < kHalvings && !falls_enough()) {
      length /= 2;
      ++halvings;
    }
    if (halvings == kHalvings) break;  // no room left at this precision
    pass.move(length);
    objective = reached;
    steps.push_back({objective, std::nullopt, value.loss, value.mmg, length, 0.0});
    if (observer && !observer(step, model, {pass.means(), {step, length, pass.natural(), steps}})) break;
    if (step == options.steps) break;
    if (options.classes_follow) loss.set_classes(model.class_vectors().view(), model.semantic_centre);
    value = pass.measure(loss, true);
    if (options.classes_follow) objective = value.objective(options.mmg) + networks.decay(0);
  }
  return steps;
}

}  // namespace parsnets
