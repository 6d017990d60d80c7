#include "svr_peers.hpp"

#ifdef PARSNETS_HAVE_LIBSVM
#include <fmt/format.h>
#include <libsvm/svm.h>
#endif

namespace bench {

#ifdef PARSNETS_HAVE_LIBSVM

namespace {

class Libsvm : public SvrPeer {
 public:
  Libsvm(const Problem& p, const parsnets::Matrix<float>& kernel) : p_(p) {
    svm_set_print_string_function([](const char*) {});
    const std::size_t n = kernel.rows(), row = n + 2;
    nodes_.reserve(n * row);
    for (std::size_t i = 0; i < n; ++i) {
      nodes_.push_back({0, static_cast<double>(i + 1)});  // the number of the sample, then its row of the kernel
      for (std::size_t j = 0; j < n; ++j) nodes_.push_back({static_cast<int>(j + 1), kernel(i, j)});
      nodes_.push_back({-1, 0});
    }
    for (std::size_t i = 0; i < n; ++i) rows_.push_back(nodes_.data() + i * row);
  }

  PeerSolution solve(std::size_t output, double c, double epsilon, double eps) override {
    std::vector<double> y(rows_.size());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = p_.targets(i, output);
    svm_problem data{};
    data.l = static_cast<int>(rows_.size());
    data.y = y.data();
    data.x = rows_.data();
    svm_parameter options{};
    options.svm_type = EPSILON_SVR;
    options.kernel_type = PRECOMPUTED;
    options.C = c;
    options.p = epsilon;
    options.eps = eps;
    options.cache_size = 2000;  // MB: every column stays
    options.shrinking = 1;
    PeerSolution solution;
    svm_model* trained = nullptr;
    const double before = cpu_seconds();
    solution.seconds = seconds_of([&] { trained = svm_train(&data, &options); });
    solution.cpu = cpu_seconds() - before;
    solution.beta.assign(rows_.size(), 0.0f);
    for (int s = 0; s < trained->l; ++s)
      solution.beta[static_cast<std::size_t>(trained->sv_indices[s] - 1)] = static_cast<float>(trained->sv_coef[0][s]);
    svm_free_and_destroy_model(&trained);
    return solution;
  }

 private:
  const Problem& p_;
  std::vector<svm_node> nodes_;
  std::vector<svm_node*> rows_;
};

}  // namespace

std::string libsvm_release() { return fmt::format("{}.{}", libsvm_version / 100, libsvm_version % 100); }
std::unique_ptr<SvrPeer> libsvm_peer(const Problem& p, const parsnets::Matrix<float>& kernel) {
  return std::make_unique<Libsvm>(p, kernel);
}

#else

std::string libsvm_release() { return "missing"; }
std::unique_ptr<SvrPeer> libsvm_peer(const Problem&, const parsnets::Matrix<float>&) { return nullptr; }

#endif

}  // namespace bench
