#include "train/join_heads.hpp"

#include <algorithm>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// The columns of `left`, then those of `right`. An empty `right` stands for zeros in `cols` columns.
Matrix<float> side_by_side(const Matrix<float>& left, const Matrix<float>& right, std::size_t cols) {
  Matrix<float> out(left.rows(), left.cols() + cols, 0.0f);
  for (std::size_t r = 0; r < out.rows(); ++r) {
    std::ranges::copy(left.row(r), out.row(r).begin());
    if (!right.empty()) std::ranges::copy(right.row(r), out.row(r).subspan(left.cols()).begin());
  }
  return out;
}

}  // namespace

TrainOptions semantic_head_options(const TrainOptions& options, const Dataset& data) {
  TrainOptions o = options;
  if (o.preset == Preset::automatic) o.preset = Preset::none;
  o.class_space.targets = Targets::semantics;
  o.class_space.semantic_head = 0;  // for every weight the same
  o.class_space.shrinkage.reset();  // of class space alone: whoever differs in these shares a head
  o.class_space.prior_samples.reset();
  o.class_space.attribute_steps.reset();
  o.class_space.prototype_lambda.reset();
  o.fit.lambda.reset();
  o.geometry.joint_steps.reset();
  o.refinement = {};
  return resolve_options(o, data);
}

Model join_heads(Model classes, const Model& semantics, double weight) {
  const std::size_t q = semantics.outputs(), support = classes.prototypes.support.rows();
  if (classes.targets != Targets::classes || semantics.targets != Targets::semantics || classes.head_weight > 0 ||
      !(weight > 0) || classes.semantic_outputs() != q ||
      classes.semantic_preprocess.whitening != semantics.semantic_preprocess.whitening ||
      classes.networks.rows() != semantics.networks.rows() || classes.shared.rows() != semantics.shared.rows() ||
      (!semantics.prototypes.support.empty() && semantics.prototypes.support.rows() != support))
    throw Error(ErrorCode::usage,
                "two heads: expected a model of class space and a semantic one of the same shape and "
                "prepared attributes");
  Model joined = std::move(classes);
  joined.networks = side_by_side(joined.networks, semantics.networks, q);
  if (!joined.shared.empty()) joined.shared = side_by_side(joined.shared, semantics.shared, q);
  joined.prototypes.weights = side_by_side(joined.prototypes.weights, semantics.prototypes.weights, q);
  joined.bias.insert(joined.bias.end(), semantics.bias.begin(), semantics.bias.end());
  joined.semantic_centre.insert(joined.semantic_centre.end(), semantics.semantic_centre.begin(),
                                semantics.semantic_centre.end());
  joined.head_weight = weight;
  return joined;
}

}  // namespace parsnets
