#pragma once
// Decompositions by Eigen, an independent library, that tests compare with. Only their source file compiles them, which
// takes half a minute.

#include <Eigen/Core>

namespace parsnets::test {

/// Falling.
Eigen::VectorXd singular_values(const Eigen::MatrixXd& a);
/// UVᵀ of a thin singular value decomposition UΣVᵀ.
Eigen::MatrixXd polar_factor(const Eigen::MatrixXd& a);
/// A⁻¹B, by elimination with full pivoting.
Eigen::MatrixXd solved(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);
Eigen::MatrixXd inverse_of(const Eigen::MatrixXd& a);

struct SymmetricEigen {
  Eigen::VectorXd values;   ///< rising
  Eigen::MatrixXd vectors;  ///< columns
};
SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& a);

}  // namespace parsnets::test
