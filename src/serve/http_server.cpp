#include "serve/http_server.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "parsnets/error.hpp"
#include "serve/connection.hpp"
#include "serve/http.hpp"
#include "serve/listener.hpp"
#include "serve/request_checks.hpp"
#include "serve/worker_threads.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostHeadBytes = 32 << 10;
constexpr std::size_t kLeastOfAddress = 16;  // connections of an address that is the only one
constexpr std::size_t kMostKept = 2 << 20;   // bytes of a body whose memory a connection keeps

RequestRules rules_of(const HttpServerOptions& options, const Listener& listener) {
  RequestRules rules{{}, options.token, options.body_bytes, options.rate.value_or(listener.is_loopback() ? 0 : 50)};
  if (listener.is_loopback())
    rules.hosts = {"localhost", "127.0.0.1", "[::1]", listener.address(), lower_case(options.host)};
  return rules;
}

}  // namespace

class HttpServer::State {
 public:
  State(HttpServerOptions options, std::vector<Route> routes, Metrics& metrics)
      : options_(std::move(options)),
        metrics_(metrics),
        listener_(options_.host, options_.port, options_.allow_remote),
        checks_(rules_of(options_, listener_), std::move(routes), metrics),
        exchanger_({options_.request, options_.idle, options_.body_bytes}, metrics),
        workers_(
            options_.connections, std::max(options_.connections / 2, kLeastOfAddress),
            [this](OpenConnection& open) { serve(open); }, metrics),
        stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (stop_event_ < 0) throw Error(ErrorCode::failure, "no descriptor is left");
  }

  ~State() {
    stop();
    ::close(stop_event_);
  }

  const Listener& listener() const { return listener_; }

  void start() {
    acceptor_ = std::thread([this] {
      accept_connections(
          listener_.socket(), stop_event_, options_.drain,
          [this](int socket, std::string address) { return workers_.take(socket, std::move(address)); },
          [this] { metrics_.add_refused("connections"); });
    });
  }

  void stop() {
    if (stopping_.exchange(true)) return;
    const std::uint64_t one = 1;
    if (::write(stop_event_, &one, sizeof one) < 0) return;
    if (acceptor_.joinable()) acceptor_.join();
    listener_.close();
    workers_.stop();
  }

 private:
  void serve(OpenConnection& open) {
    try {
      serve_requests(open);
    } catch (const std::exception&) {  // no memory is left even for a refusal; other connections go on
    }
    ::close(open.socket);
  }

  /// Every request of a connection.
  void serve_requests(OpenConnection& open) {
    Connection connection(open.socket, stop_event_, [&](Wait wait) { workers_.waits(open, wait); });
    bool unread = false;
    std::string room;
    while (connection.wait_for_request(options_.idle) && !open.replaced) {
      const auto begin = Clock::now();
      connection.set_deadline(begin + std::min(options_.head, options_.request));
      Exchange exchange;
      exchange.connection = &connection;
      exchange.room = std::move(room);
      bool keep = false, head_alone = false;
      std::optional<HttpError> error;
      try {
        const std::string head = connection.read_head(kMostHeadBytes);
        if (head.empty() || open.replaced) break;
        connection.set_deadline(begin + options_.request);
        head_alone = head.starts_with("HEAD ");
        exchange.head = parse_request_head(head);
        exchange.body_complete = !exchange.head.has_body();
        checks_.check(exchange.head, open.address, exchange.found);
        keep = exchanger_.finish(exchange, stopping_ || exchange.head.closes());
      } catch (const HttpError& e) {
        error = e;
      } catch (const std::exception&) {  // no memory is left; other connections go on
        error = HttpError(503, "the server is out of memory");
      }
      if (error) exchange.status = refuse(connection, *error, head_alone);
      metrics_.add_request(exchange.found.route == nullptr ? "none" : exchange.found.route->path, exchange.status,
                           std::chrono::duration<double>(Clock::now() - begin).count());
      room = std::move(exchange.request.body.empty() ? exchange.room : exchange.request.body);
      if (room.capacity() > kMostKept) room = {};
      if (keep) continue;
      unread = error || !exchange.body_complete;
      break;
    }
    if (unread) connection.close_gently(2 * options_.body_bytes, options_.drain);
  }

  /// The status that was written.
  int refuse(Connection& connection, const HttpError& error, bool head_alone) const {
    HttpResponse response = error_response(error);
    if (response.status == 405) response.headers.emplace_back("Allow", error.place().expected);
    const std::string text = closing_text(response, head_alone);
    connection.set_deadline(Clock::now() + options_.request);
    connection.write(text.data(), text.size());
    connection.flush();
    return response.status;
  }

  const HttpServerOptions options_;
  Metrics& metrics_;
  Listener listener_;
  const RequestChecks checks_;
  Exchanger exchanger_;
  WorkerThreads workers_;
  int stop_event_;
  std::atomic<bool> stopping_{false};
  std::thread acceptor_;
};

HttpServer::HttpServer(HttpServerOptions options, std::vector<Route> routes, Metrics& metrics)
    : state_(std::make_unique<State>(std::move(options), std::move(routes), metrics)) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return state_->listener().port(); }
std::string HttpServer::address() const {
  return fmt::format("http://{}:{}", state_->listener().address(), state_->listener().port());
}
void HttpServer::start() { state_->start(); }
void HttpServer::stop() { state_->stop(); }

}  // namespace parsnets
