#pragma once
// An HTTP server that knows nothing about models: connections, limits in bytes and time, checks of who asks, routes.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/http.hpp"
#include "serve/metrics.hpp"

namespace parsnets {

struct HttpServerOptions {
  std::string host = "127.0.0.1";            ///< name or address to listen on
  int port = 8080;                           ///< 0: any that is free
  bool allow_remote = false;                 ///< another address than loopback is allowed
  std::string token{};                       ///< every route that is not open asks for it; empty: none
  std::size_t connections = 64;              ///< at a time; further ones replace those without a request, or get 503
  std::chrono::milliseconds head{3000};      ///< from the first byte of a request to the end of its head
  std::chrono::milliseconds request{10000};  ///< from the first byte of a request to its last, and for its response
  std::chrono::milliseconds idle{15000};     ///< between requests of a connection
  std::chrono::milliseconds drain{1000};     ///< for a client that is still sending to read why it was refused
  std::size_t body_bytes = 16u << 20;        ///< of a request
  /// Requests per second and address; 0: any number; empty: 50 from other machines, where no proxy hides the address.
  std::optional<double> rate{};
};

/// One thread owns all sockets; routes answer on others. One address gets half of the connections, or 16 if that is
/// more. Requests that are not valid HTTP, that ask for a host that this is not, that come from pages of other sites or
/// that lack the token never reach a route.
class HttpServer {
 public:
  /// Listens from here on, and answers after start(). Throws usage when it
  /// cannot, or for an address that is not loopback without `allow_remote`. `metrics` must outlive it.
  HttpServer(HttpServerOptions options, std::vector<Route> routes, Metrics& metrics);
  /// Stops.
  ~HttpServer();

  int port() const;
  std::string address() const;  ///< "http://127.0.0.1:8080"
  /// Begins to answer; returns at once.
  void start();
  /// Takes no new connections, finishes the requests whose heads have come and returns. They end within their time.
  void stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace parsnets
