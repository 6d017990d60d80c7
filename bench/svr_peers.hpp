#pragma once
// LIBLINEAR and LIBSVM on the same SVR, one output at a time: the other side of svr.cpp.

#include <memory>
#include <string>
#include <vector>

#include "problem.hpp"

namespace bench {

std::string liblinear_release(), libsvm_release();  ///< "missing" where the library was not there at build time

/// What a peer makes of one output.
struct PeerSolution {
  double seconds = 0;           ///< of training alone: data are handed over before
  double cpu = 0;               ///< the same of the processor
  std::vector<double> weights;  ///< LIBLINEAR: K·(h+1)
  std::vector<float> beta;      ///< LIBSVM: n
};

class SvrPeer {
 public:
  virtual ~SvrPeer() = default;
  /// `eps` is the peer's own criterion to stop.
  virtual PeerSolution solve(std::size_t output, double c, double epsilon, double eps) = 0;
};

/// L2R_L1LOSS_SVR_DUAL without bias on the expanded sparse features Φ(x). Null where there is no LIBLINEAR.
std::unique_ptr<SvrPeer> liblinear_peer(const Problem& problem);
/// EPSILON_SVR with a PRECOMPUTED kernel T (n x n), made by the engine. Null where there is no LIBSVM.
std::unique_ptr<SvrPeer> libsvm_peer(const Problem& problem, const parsnets::Matrix<float>& kernel);

}  // namespace bench
