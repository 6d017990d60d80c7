#include "train/place_classes.hpp"

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "data/sample_set.hpp"
#include "features/preprocess.hpp"
#include "solvers/attribute_weights.hpp"

namespace parsnets {

namespace {

std::vector<double> mean_of_rows(const Matrix<double>& rows) {
  std::vector<double> mean(rows.cols(), 0.0);
  for (std::size_t r = 0; r < rows.rows(); ++r)
    for (std::size_t j = 0; j < rows.cols(); ++j) mean[j] += rows(r, j) / static_cast<double>(rows.rows());
  return mean;
}

Matrix<double> centred_means(const ClassMeans& classes) {
  Matrix<double> centred = Matrix<double>::copy_of(classes.means.view());
  const auto centre = mean_of_rows(classes.means);
  for (std::size_t s = 0; s < centred.rows(); ++s)
    for (std::size_t j = 0; j < centred.cols(); ++j) centred(s, j) -= centre[j];
  return centred;
}

/// Prepared semantics of the classes at unit length: P x q.
Matrix<double> unit_semantics(const Model& model, std::span<const std::int32_t> classes) {
  Matrix<double> unit = to_double(
      preprocessed_semantics(model.semantic_preprocess, gather_rows(model.classes.semantics.view(), classes).view())
          .view());
  for (std::size_t s = 0; s < unit.rows(); ++s) {
    double squares = 0;
    for (const double v : unit.row(s)) squares += v * v;
    if (squares > 0)
      for (double& v : unit.row(s)) v /= std::sqrt(squares);
  }
  return unit;
}

}  // namespace

SemanticPreprocess fit_place_semantics(const ParsNetsOptions& options, const Semantics& semantics,
                                       const ClassMeans& classes) {
  const SemanticScaling scaling = options.semantics.scaling;
  std::vector<double> weights;
  if (options.attribute_steps > 0) {
    SemanticPreprocess scaled = fit_semantic_preprocess(scaling, semantics.values.view(), classes.classes);
    scaled.scaling = SemanticScaling::none;
    AttributeProblem problem{
        to_double(preprocessed_semantics(scaled, gather_rows(semantics.values.view(), classes.classes).view()).view()),
        scaling == SemanticScaling::l2 || scaling == SemanticScaling::centre_l2,
        centred_means(classes),
        options.semantics.whitening,
        options.prototype_lambda,
        options.prototype_width};
    const std::vector<double> shares = table_weights(options.semantics, semantics);
    for (std::size_t t = 0; t < semantics.tables.size(); ++t)
      problem.tables.push_back({semantics.tables[t].second, shares[t]});
    weights = learn_attribute_weights(problem, options.attribute_steps);
  }
  return fit_semantic_preprocess(options.semantics, semantics, classes.classes, true, weights);
}

void place_classes(Model& model, const ClassMeans& classes, const ParsNetsOptions& options) {
  const Matrix<double> own = centred_means(classes), unit = unit_semantics(model, classes.classes);
  const auto centre = mean_of_rows(classes.means);
  model.semantic_centre.assign(centre.begin(), centre.end());
  const double width = options.prototype_width;
  ThreadPool caller(1);
  Matrix<double> kernel(unit.rows(), unit.rows()), weights = Matrix<double>::copy_of(own.view());
  multiply(caller, Trans::no, unit.view(), Trans::yes, unit.view(), kernel.view());
  if (width > 0)
    for (double& k : kernel.values()) k = std::exp((k - 1) / (width * width));
  Cholesky(std::move(kernel), options.prototype_lambda).solve(caller, weights.view());
  model.prototypes = {to_float(unit.view()), to_float(weights.view()), width, options.prototype_lambda};
  model.prior_samples = options.prior_samples;
  model.classes.samples.assign(model.classes.names.size(), 0.0f);
  model.classes.means = Matrix<float>(model.classes.names.size(), own.cols(), 0.0f);
  for (std::size_t s = 0; s < own.rows(); ++s) {
    const auto c = static_cast<std::size_t>(classes.classes[s]);
    model.classes.samples[c] = static_cast<float>(classes.samples[s]);
    std::ranges::transform(own.row(s), model.classes.means.row(c).begin(),
                           [](double v) { return static_cast<float>(v); });
  }
}

void fit_attribute_head(Model& model, const ClassMeans& classes) {
  const Matrix<double> means = centred_means(classes);
  const std::size_t count = means.rows(), o = means.cols(), m = model.attributes();
  Matrix<double> weighted = Matrix<double>::copy_of(means.view()), attributes(count, m), gram(o, o), head(o, m);
  std::vector<float> a(m);
  double total = 0;
  for (std::size_t s = 0; s < count; ++s) {
    for (double& v : weighted.row(s)) v *= classes.samples[s];
    total += classes.samples[s];
    const auto given = model.classes.semantics.row(static_cast<std::size_t>(classes.classes[s]));
    std::ranges::copy(given, a.begin());
    model.semantic_preprocess.apply(a);
    std::ranges::copy(a, attributes.row(s).begin());
  }
  std::vector<double> mean(m, 0.0);
  for (std::size_t s = 0; s < count; ++s)
    for (std::size_t j = 0; j < m; ++j) mean[j] += classes.samples[s] / total * attributes(s, j);
  for (std::size_t s = 0; s < count; ++s)
    for (std::size_t j = 0; j < m; ++j) attributes(s, j) -= mean[j];
  ThreadPool caller(1);
  multiply(caller, Trans::yes, weighted.view(), Trans::no, means.view(), gram.view());
  multiply(caller, Trans::yes, weighted.view(), Trans::no, attributes.view(), head.view());
  Cholesky(std::move(gram), total).solve(caller, head.view());
  model.attribute_head = Matrix<float>(o + 1, m);
  for (std::size_t j = 0; j < m; ++j) {
    double offset = mean[j];
    for (std::size_t i = 0; i < o; ++i) {
      model.attribute_head(i, j) = static_cast<float>(head(i, j));
      offset -= head(i, j) * model.semantic_centre[i];
    }
    model.attribute_head(o, j) = static_cast<float>(offset);
  }
}

}  // namespace parsnets
