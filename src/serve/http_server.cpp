#include "serve/http_server.hpp"

#include <fmt/format.h>

#include <asio/post.hpp>
#include <thread>

#include "parsnets/error.hpp"
#include "serve/connection.hpp"

namespace parsnets {

namespace {

using asio::ip::tcp;

/// Throws usage when the address cannot be had, or when it is not one of loopback and may not be.
tcp::acceptor listen_on(asio::io_context& io, const HttpServerOptions& options) {
  std::error_code failed;
  const auto found = tcp::resolver(io).resolve(options.host, std::to_string(options.port),
                                               tcp::resolver::passive | tcp::resolver::numeric_service, failed);
  if (failed)
    throw Error(ErrorCode::usage, fmt::format("{}: expected a name or an address of this machine, found '{}' ({})",
                                              option_name("host"), options.host, failed.message()));
  const tcp::endpoint endpoint = *found.begin();
  if (!endpoint.address().is_loopback() && !options.allow_remote)
    throw Error(ErrorCode::usage,
                fmt::format("{}: '{}' can be reached from other machines; this needs a token in {} or PARSNETS_TOKEN",
                            option_name("host"), options.host, option_name("token-file")));
  try {
    return tcp::acceptor(io, endpoint);
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::usage,
                fmt::format("{}: cannot listen on {} port {} ({}); choose another port, or 0 for a free one",
                            option_name("port"), options.host, options.port, error.code().message()));
  }
}

/// As in addresses of the web: in brackets for IPv6.
std::string text_of(const asio::ip::address& address) {
  return address.is_v6() ? fmt::format("[{}]", address.to_string()) : address.to_string();
}

std::string bytes_of(const asio::ip::address& address) {
  if (address.is_v4() || address.to_v6().is_v4_mapped()) {
    const auto v4 = address.is_v4() ? address.to_v4() : make_address_v4(asio::ip::v4_mapped, address.to_v6());
    const auto bytes = v4.to_bytes();
    return {bytes.begin(), bytes.end()};
  }
  const auto bytes = address.to_v6().to_bytes();
  return {bytes.begin(), bytes.begin() + 8};  // one household has many addresses, of one network
}

RequestRules rules_of(const HttpServerOptions& options, const asio::ip::address& address) {
  const bool loopback = address.is_loopback();
  RequestRules rules{{}, options.token, options.body_bytes, options.rate.value_or(loopback ? 0 : 50)};
  if (loopback) rules.hosts = {"localhost", "127.0.0.1", "[::1]", text_of(address), lower_case(options.host)};
  return rules;
}

}  // namespace

class HttpServer::State {
 public:
  State(HttpServerOptions options, std::vector<Route> routes, Metrics& metrics)
      : loop_(std::move(options), metrics),
        acceptor_(listen_on(loop_.io, loop_.options)),
        address_(acceptor_.local_endpoint()),
        later_(loop_.io) {
    loop_.checks =
        std::make_unique<RequestChecks>(rules_of(loop_.options, address_.address()), std::move(routes), metrics);
  }
  ~State() { stop(); }

  const tcp::endpoint& address() const { return address_; }

  void start() {
    thread_ = std::thread([this] { run(); });
  }

  void stop() {
    if (!thread_.joinable()) return;
    asio::post(loop_.io, [this] {
      std::error_code ignored;
      acceptor_.close(ignored);
      later_.cancel();
      loop_.stop();
    });
    thread_.join();
    loop_.workers.join();
  }

 private:
  void run() {
    for (;;) {
      try {
        if (!accepting_ && !loop_.stopping) accept();
        loop_.io.run();
        return;
      } catch (const std::exception&) {  // no memory is left for something; all else goes on
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  void accept() {
    acceptor_.async_accept(peer_, [this](std::error_code failed, tcp::socket socket) {
      accepting_ = false;
      if (loop_.stopping) return;
      if (failed) {  // no descriptor is left, until a connection ends
        later_.expires_after(kPause);
        later_.async_wait([this](std::error_code) { accepting_ = false, accept(); });
        accepting_ = true;
        return;
      }
      try {
        loop_.take(std::move(socket), bytes_of(peer_.address()));
      } catch (const std::exception&) {  // no memory is left for this one
      }
      accept();
    });
    accepting_ = true;
  }

  static constexpr std::chrono::milliseconds kPause{10};

  ServerLoop loop_;
  tcp::acceptor acceptor_;
  const tcp::endpoint address_;
  tcp::endpoint peer_;  ///< of the connection that is being accepted
  asio::steady_timer later_;
  bool accepting_ = false;
  std::thread thread_;
};

HttpServer::HttpServer(HttpServerOptions options, std::vector<Route> routes, Metrics& metrics)
    : state_(std::make_unique<State>(std::move(options), std::move(routes), metrics)) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return state_->address().port(); }
std::string HttpServer::address() const {
  return fmt::format("http://{}:{}", text_of(state_->address().address()), port());
}
void HttpServer::start() { state_->start(); }
void HttpServer::stop() { state_->stop(); }

}  // namespace parsnets
