#pragma once
// What the server counts, in the text format of Prometheus.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace parsnets {

/// Thread-safe.
class Metrics {
 public:
  /// A request that got a response. `route`: its path with `*`, or "none".
  void add_request(const std::string& route, int status, double seconds);
  /// A request or connection that was turned away before a route saw it: "rate", "connections", "host", …
  void add_refused(const std::string& reason);
  void add_predictions(std::size_t samples) { predictions_ += samples; }
  void add_connections(int change) { connections_ += change; }
  void add_in_flight(int change) { in_flight_ += change; }

  /// All of them, with the resident memory of the process.
  std::string text() const;

 private:
  static constexpr std::array<double, 11> kBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10};
  struct Latency {
    std::array<std::uint64_t, kBounds.size()> at_most{};  ///< by bound, not yet summed up
    std::uint64_t count = 0;
    double seconds = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;
  std::map<std::string, Latency> latencies_;
  std::map<std::string, std::uint64_t> refused_;
  std::atomic<std::uint64_t> predictions_{0};
  std::atomic<int> connections_{0}, in_flight_{0};
};

}  // namespace parsnets
