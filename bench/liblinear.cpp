#include "svr_peers.hpp"

#ifdef PARSNETS_HAVE_LIBLINEAR
#include <fmt/format.h>
#include <linear.h>
#endif

namespace bench {

#ifdef PARSNETS_HAVE_LIBLINEAR

namespace {

class Liblinear : public SvrPeer {
 public:
  explicit Liblinear(const Problem& p) : p_(p) {
    set_print_string_function([](const char*) {});
    const std::size_t n = p.z.rows(), width = p.z.cols() + 1, row = p.open.cols() * width + 1;
    nodes_.reserve(n * row);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::uint16_t g : p.open.row(i))
        for (std::size_t j = 0; j < width; ++j)
          nodes_.push_back({static_cast<int>(g * width + j + 1), j == 0 ? 1.0 : p.z(i, j - 1)});
      nodes_.push_back({-1, 0});
    }
    for (std::size_t i = 0; i < n; ++i) rows_.push_back(nodes_.data() + i * row);
  }

  PeerSolution solve(std::size_t output, double c, double epsilon, double eps) override {
    std::vector<double> y(rows_.size());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = p_.targets(i, output);
    problem data{};
    data.l = static_cast<int>(rows_.size());
    data.n = static_cast<int>(p_.gates.networks * (p_.z.cols() + 1));
    data.y = y.data();
    data.x = rows_.data();
    data.bias = -1;
    parameter options{};
    options.solver_type = L2R_L1LOSS_SVR_DUAL;
    options.C = c;
    options.eps = eps;
    options.p = epsilon;
    PeerSolution solution;
    model* trained = nullptr;
    const double before = cpu_seconds();
    solution.seconds = seconds_of([&] { trained = ::train(&data, &options); });
    solution.cpu = cpu_seconds() - before;
    solution.weights.assign(trained->w, trained->w + data.n);
    free_and_destroy_model(&trained);
    return solution;
  }

 private:
  const Problem& p_;
  std::vector<feature_node> nodes_;
  std::vector<feature_node*> rows_;
};

}  // namespace

std::string liblinear_release() { return fmt::format("{}.{}", liblinear_version / 100, liblinear_version % 100); }
std::unique_ptr<SvrPeer> liblinear_peer(const Problem& p) { return std::make_unique<Liblinear>(p); }

#else

std::string liblinear_release() { return "missing"; }
std::unique_ptr<SvrPeer> liblinear_peer(const Problem&) { return nullptr; }

#endif

}  // namespace bench
