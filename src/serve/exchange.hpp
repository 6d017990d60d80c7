#pragma once
// A request between its head and its response: cpp-httplib reads the body and writes the response.

#include <chrono>
#include <string>

#include "serve/connection.hpp"
#include "serve/http.hpp"
#include "serve/metrics.hpp"
#include "serve/request_head.hpp"
#include "serve/route_finder.hpp"

namespace parsnets {

struct Exchange {
  RequestHead head;
  FoundRoute found;
  HttpRequest request;
  Connection* connection = nullptr;
  std::string room;            ///< memory for the body, used again by the next request of the connection
  bool body_complete = false;  ///< or there is none
  int status = 0;              ///< of the response that was written
};

struct ExchangeLimits {
  std::chrono::milliseconds response{10000};  ///< for writing it
  std::chrono::milliseconds idle{15000};      ///< told to clients
  std::size_t body_bytes = 16u << 20;
};

/// Thread-safe: every thread finishes exchanges of its own.
class Exchanger : private httplib::Server {
 public:
  /// `metrics` must outlive it.
  Exchanger(ExchangeLimits limits, Metrics& metrics);

  /// Reads the body of a request whose head was checked, has its route answer and writes the response. `last`: the
  /// connection ends after it. Whether the connection can be used again.
  bool finish(Exchange& exchange, bool last);

 private:
  void read_body_and_answer(const httplib::Request& request, httplib::Response& response,
                            const httplib::ContentReader& reader);
  void answer(const httplib::Request& request, httplib::Response& response);

  const ExchangeLimits limits_;
  Metrics& metrics_;
};

}  // namespace parsnets
