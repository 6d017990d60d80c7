#include "serve/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/machine.hpp"

namespace parsnets {

void Metrics::add_request(const std::string& route, int status, double seconds) {
  std::lock_guard lock(mutex_);
  ++requests_[{route, status}];
  Latency& latency = latencies_[route];
  const auto bound = std::ranges::lower_bound(kBounds, seconds);
  if (bound != kBounds.end()) ++latency.at_most[static_cast<std::size_t>(bound - kBounds.begin())];
  ++latency.count;
  latency.seconds += seconds;
}

void Metrics::add_refused(const std::string& reason) {
  std::lock_guard lock(mutex_);
  ++refused_[reason];
}

std::string Metrics::text() const {
  std::string out;
  const auto describe = [&](const char* name, const char* type, const char* help) {
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  };
  std::lock_guard lock(mutex_);
  describe("parsnets_requests_total", "counter", "Requests by route and status.");
  for (const auto& [key, count] : requests_)
    out += fmt::format("parsnets_requests_total{{route=\"{}\",code=\"{}\"}} {}\n", key.first, key.second, count);
  describe("parsnets_request_seconds", "histogram", "Time from the first byte of a request to its response.");
  for (const auto& [route, latency] : latencies_) {
    std::uint64_t sum = 0;
    for (std::size_t b = 0; b < kBounds.size(); ++b) {
      sum += latency.at_most[b];
      out += fmt::format("parsnets_request_seconds_bucket{{route=\"{}\",le=\"{}\"}} {}\n", route, kBounds[b], sum);
    }
    out += fmt::format("parsnets_request_seconds_bucket{{route=\"{}\",le=\"+Inf\"}} {}\n", route, latency.count);
    out += fmt::format("parsnets_request_seconds_sum{{route=\"{}\"}} {}\n", route, latency.seconds);
    out += fmt::format("parsnets_request_seconds_count{{route=\"{}\"}} {}\n", route, latency.count);
  }
  describe("parsnets_refused_total", "counter", "Requests and connections turned away, by reason.");
  for (const auto& [reason, count] : refused_)
    out += fmt::format("parsnets_refused_total{{reason=\"{}\"}} {}\n", reason, count);
  const auto add = [&](const char* name, const char* type, const char* help, auto value) {
    describe(name, type, help);
    out += fmt::format("{} {}\n", name, value);
  };
  add("parsnets_predictions_total", "counter", "Samples that were given classes.", predictions_.load());
  add("parsnets_connections", "gauge", "Open connections.", connections_.load());
  add("parsnets_in_flight", "gauge", "Requests that are being answered.", in_flight_.load());
  add("parsnets_resident_bytes", "gauge", "Resident memory of the process.", resident_memory());
  return out;
}

}  // namespace parsnets
