#include "solvers/descent.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <optional>

#include "base/linalg.hpp"
#include "model/composite.hpp"
#include "parsnets/error.hpp"
#include "solvers/descent_loss.hpp"
#include "solvers/gated_direction.hpp"
#include "solvers/preconditioner.hpp"

namespace parsnets {

namespace {

constexpr int kHalvings = 30;
constexpr double kSufficient = 1e-4;  ///< part of the predicted fall that a step must reach

void check(const Model& model, const DescentSamples& s, const DescentOptions& o) {
  if (model.direction != Direction::forward)
    throw Error(ErrorCode::usage, "refinement: expected a model that maps features to semantics, found a reverse one");
  if (o.loss == DescentLoss::softmax && model.similarity != Similarity::cosine)
    throw Error(ErrorCode::usage, "refinement: expected similarity cosine");
  if (o.steps < 0 || !(o.sharpness > 0) || !(o.step > 0) || !(o.lambda > 0) || !(o.gate_weight >= 0) || !(o.mmg >= 0))
    throw Error(ErrorCode::usage,
                "refinement: expected steps >= 0, positive sharpness, step and lambda, and "
                "non-negative weights");
  if (s.x.rows() != s.labels.size() || s.x.cols() != model.dimensions || s.x.rows() == 0 ||
      (!s.z.empty() && (s.z.rows() != s.x.rows() || s.open.rows() != s.x.rows())))
    throw Error(BadInput{"refinement", "samples", "as many rows and columns as the model has inputs",
                         fmt::format("{} x {} for {} labels", s.x.rows(), s.x.cols(), s.labels.size()), ""});
}

double sum_of_products(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

void add_scaled(std::span<float> to, double factor, std::span<const float> what) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(to[i] + factor * what[i]);
}

/// The networks of a model that move, and what they give on the training samples.
class Networks {
 public:
  Networks(Model& model, const DescentSamples& samples, const DescentOptions& options, ThreadPool& pool)
      : model_(model), samples_(samples), options_(options), pool_(pool) {
    const std::size_t m = model.networks.cols();
    const bool one_linear = is_one_linear_map(model);
    if (one_linear)
      shared_ = {model.networks.data() + m, model.dimensions, m};
    else if (!model.shared.empty())
      shared_ = model.shared.view();
    if (!one_linear) gated_ = model.networks.view();
    if (options.shared && !shared_.empty()) {
      if (samples.preconditioner == nullptr) own_.emplace(samples.x, options.lambda, pool);
      shared_step_ = own_ ? &*own_ : samples.preconditioner;
    }
    if (options.gate_weight > 0 && !gated_.empty())
      gated_step_.emplace(samples.z, samples.open, model.gates.networks, options.lambda, pool);
    if (shared_step_ == nullptr && !gated_step_)
      throw Error(ErrorCode::usage, "refinement: expected at least one network to train");
  }

  Matrix<float> outputs() const {
    Matrix<float> f = gated_outputs(gated_, model_.bias);
    if (!shared_.empty()) multiply(pool_, Trans::no, samples_.x, Trans::no, shared_, f.view(), 1, 1);
    return f;
  }

  /// Directions of steepest preconditioned descent for dJ/df = gradient; `natural` scales them to a length of 1.
  void aim(MatrixView<const float> gradient, double natural) {
    const auto scale = [&](Matrix<float>& d, MatrixView<const float> weights) {
      for (float& v : d.values()) v = static_cast<float>(-natural * v);
      decay_slope_ += options_.decay * sum_of_products(d.values(), weights.values());
    };
    decay_slope_ = 0;
    if (shared_step_ != nullptr) {
      shared_direction_ = shared_step_->direction(gradient, options_.decay, shared_, pool_);
      scale(shared_direction_, shared_);
    }
    if (gated_step_) {
      gated_direction_ =
          gated_step_->direction(gradient, options_.gate_weight, options_.decay, gated_, model_.relu, pool_);
      scale(gated_direction_, gated_);
    }
    if (model_.relu) return;
    change_ = gated_outputs(gated_direction_.view(), std::vector<float>(model_.bias.size(), 0.0f));
    if (shared_step_ != nullptr)
      multiply(pool_, Trans::no, samples_.x, Trans::no, shared_direction_.view(), change_.view(), 1, 1);
  }

  /// f after a step of `length` along the directions; f is the present one.
  Matrix<float> outputs_after(MatrixView<const float> f, double length) const {
    if (model_.relu) {
      Matrix<float> moved = Matrix<float>::copy_of(gated_);
      if (gated_step_) add_scaled(moved.values(), length, gated_direction_.values());
      Matrix<float> out = gated_outputs(moved.view(), model_.bias);
      if (!shared_.empty()) multiply(pool_, Trans::no, samples_.x, Trans::no, shared_, out.view(), 1, 1);
      if (shared_step_ != nullptr)
        multiply(pool_, Trans::no, samples_.x, Trans::no, shared_direction_.view(), out.view(),
                 static_cast<float>(length), 1);
      return out;
    }
    Matrix<float> out = Matrix<float>::copy_of(f);
    add_scaled(out.values(), length, change_.values());
    return out;
  }

  void move(double length) {
    if (shared_step_ != nullptr) add_scaled(shared_.values(), length, shared_direction_.values());
    if (gated_step_) add_scaled(gated_.values(), length, gated_direction_.values());
  }

  /// ½ρ‖Θ‖² after a step of `length`.
  double decay(double length) const {
    if (options_.decay == 0) return 0;
    double squares = 0;
    const auto add = [&](std::span<const float> weights, std::span<const float> direction) {
      squares += sum_of_products(weights, weights);
      if (direction.empty() || length == 0) return;
      squares +=
          2 * length * sum_of_products(weights, direction) + length * length * sum_of_products(direction, direction);
    };
    if (!shared_.empty()) add(shared_.values(), shared_direction_.values());
    if (!gated_.empty()) add(gated_.values(), gated_direction_.values());
    return options_.decay * squares / 2;
  }

  /// dJ/d(length) at 0, for dJ/df = gradient.
  double slope(MatrixView<const float> f, MatrixView<const float> gradient) const {
    if (!model_.relu) return sum_of_products(gradient.values(), change_.values()) + decay_slope_;
    constexpr double kSmall = 1e-3;
    Matrix<float> moved = outputs_after(f, kSmall);
    add_scaled(moved.values(), -1, f.values());
    return sum_of_products(gradient.values(), moved.values()) / kSmall + decay_slope_;
  }

 private:
  Matrix<float> gated_outputs(MatrixView<const float> networks, const std::vector<float>& bias) const {
    if (!gated_.empty() && !networks.empty())
      return compose(samples_.z, samples_.open, model_.gates.networks, networks, bias, model_.relu, pool_);
    Matrix<float> f(samples_.x.rows(), bias.size());
    for (std::size_t l = 0; l < f.rows(); ++l) std::copy(bias.begin(), bias.end(), f.row(l).begin());
    return f;
  }

  Model& model_;
  const DescentSamples& samples_;
  const DescentOptions& options_;
  ThreadPool& pool_;
  MatrixView<float> shared_, gated_;
  std::optional<RidgePreconditioner> own_;
  const RidgePreconditioner* shared_step_ = nullptr;
  std::optional<GatedDirection> gated_step_;
  Matrix<float> shared_direction_, gated_direction_, change_;
  double decay_slope_ = 0;
};

}  // namespace

bool is_one_linear_map(const Model& model) {
  return model.gates.kind == GateKind::always && !model.networks_see_encoding && !model.relu && model.shared.empty();
}

std::vector<DescentStep> descend(Model& model, const DescentSamples& samples, const DescentOptions& options,
                                 ThreadPool& pool, ProgressObserver* progress, const DescentObserver& observer) {
  check(model, samples, options);
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  Networks networks(model, samples, options, pool);
  Matrix<float> f = networks.outputs(), gradient(f.rows(), f.cols());
  const bool goes_on = !observer || observer(0, model, f.view());
  DescentSamples compared = samples;
  Matrix<float> vectors;
  if (options.classes_follow) {
    vectors = model.class_vectors();
    compared.semantics = vectors.view();
  }
  LossOfOutputs loss(compared, model.semantic_centre, options, pool);
  const double natural = loss.natural_step(f.view());
  auto value = loss.evaluate(f.view(), gradient.view());
  double objective = value.objective(options.mmg) + networks.decay(0), length = options.step;
  std::vector<DescentStep> steps{{objective, value.loss, value.mmg, 0, 0, seconds()}};
  if (!goes_on) return steps;
  for (int step = 1; step <= options.steps; ++step) {
    report(progress,
           {"refine", static_cast<std::uint64_t>(step - 1), static_cast<std::uint64_t>(options.steps), "steps"});
    networks.aim(gradient.view(), natural);
    const double slope = networks.slope(f.view(), gradient.view());
    steps.back().slope = -slope;
    if (!(slope < 0) || -slope <= options.tolerance * objective) break;
    length = std::min(options.step, 2 * length);
    Matrix<float> moved;
    double reached = 0;
    const auto falls_enough = [&] {
      moved = networks.outputs_after(f.view(), length);
      value = loss.evaluate(moved.view(), {});
      reached = value.objective(options.mmg) + networks.decay(length);
      return reached <= objective + kSufficient * length * slope;
    };
    int halvings = 0;
    while (halvings < kHalvings && !falls_enough()) {
      length /= 2;
      ++halvings;
    }
    if (halvings == kHalvings) break;  // no room left at this precision
    networks.move(length);
    f = std::move(moved);
    objective = reached;
    steps.push_back({objective, value.loss, value.mmg, length, 0, seconds()});
    if (observer && !observer(step, model, f.view())) break;
    if (step == options.steps) break;
    if (options.classes_follow) loss.set_classes(model.class_vectors().view(), model.semantic_centre);
    value = loss.evaluate(f.view(), gradient.view());
    if (options.classes_follow) objective = value.objective(options.mmg) + networks.decay(0);
  }
  return steps;
}

}  // namespace parsnets
