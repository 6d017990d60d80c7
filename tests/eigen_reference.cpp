#include "eigen_reference.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/SVD>

namespace parsnets::test {

Eigen::VectorXd singular_values(const Eigen::MatrixXd& a) { return Eigen::BDCSVD<Eigen::MatrixXd>(a).singularValues(); }

Eigen::MatrixXd polar_factor(const Eigen::MatrixXd& a) {
  const Eigen::BDCSVD<Eigen::MatrixXd> svd(a, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return svd.matrixU() * svd.matrixV().transpose();
}

Eigen::MatrixXd solved(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) { return a.fullPivLu().solve(b); }

Eigen::MatrixXd inverse_of(const Eigen::MatrixXd& a) {
  return solved(a, Eigen::MatrixXd::Identity(a.rows(), a.cols()));
}

SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& a) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(a);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

}  // namespace parsnets::test
