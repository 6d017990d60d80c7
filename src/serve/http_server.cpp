#include "serve/http_server.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "parsnets/error.hpp"
#include "serve/connection.hpp"
#include "serve/listener.hpp"
#include "serve/rate_limiter.hpp"
#include "serve/request_head.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostHeadBytes = 32 << 10;
constexpr std::size_t kMostParts = 8;
constexpr std::size_t kMostKept = 1 << 20;  // bytes of a body whose memory a connection keeps
constexpr std::size_t kMostRefused = 64;    // connections that are told so and have not hung up yet

const std::pair<const char*, const char*> kSecurityHeaders[]{
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr const char* kDataPolicy = "default-src 'none'; frame-ancestors 'none'";

/// A request between its head and its response.
struct Exchange {
  RequestHead head;
  const Route* route = nullptr;
  HttpRequest request;
  Connection* connection = nullptr;
  std::string room;            ///< memory for the body, used again by the next request of the connection
  bool body_complete = false;  ///< or there is none
  int status = 0;              ///< of the response that was written
};

/// cpp-httplib does not tell its handlers which connection they serve.
thread_local Exchange* current = nullptr;

/// Takes the same time wherever the two differ.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[b.empty() ? 0 : i % b.size()]);
  return different == 0;
}

/// Whether the path is that of the route; `captured` gets what stood for `*`.
bool matches(std::string_view pattern, std::string_view path, std::vector<std::string>& captured) {
  captured.clear();
  for (;;) {
    const auto star = pattern.find('*');
    if (star == std::string_view::npos) return pattern == path;
    if (path.substr(0, star) != pattern.substr(0, star)) return false;
    path.remove_prefix(star);
    pattern.remove_prefix(star + 1);
    captured.emplace_back(path.substr(0, path.find('/')));
    if (captured.back().empty()) return false;
    path.remove_prefix(captured.back().size());
  }
}

std::string media_type(const std::string* header) {
  std::string type = header == nullptr ? "" : header->substr(0, header->find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
  return lower_case(type);
}

/// Of a Host header, what stands before the port, in lower case.
std::string name_of(std::string_view host) {
  const auto colon = host.rfind(':');
  const bool port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos &&
                    host.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  return lower_case(port ? host.substr(0, colon) : host);
}

std::string address_of(const sockaddr_storage& peer) {
  if (peer.ss_family == AF_INET6) {
    const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
    const char* bytes = reinterpret_cast<const char*>(&address);
    if (IN6_IS_ADDR_V4MAPPED(&address)) return {bytes + 12, 4};
    return {bytes, 8};  // one household has many addresses, of one network
  }
  return {reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in&>(peer).sin_addr), 4};
}

std::vector<std::pair<std::string, std::string>> headers_of(const HttpResponse& response, bool page) {
  std::vector<std::pair<std::string, std::string>> headers(std::begin(kSecurityHeaders), std::end(kSecurityHeaders));
  headers.emplace_back("Content-Security-Policy", page ? kPagePolicy : kDataPolicy);
  headers.emplace_back("Cache-Control", page ? "no-cache" : "no-store");
  for (const auto& header : response.headers) headers.push_back(header);
  return headers;
}

/// A response that needs no parsed request, with the end of the connection.
std::string closing_text(const HttpResponse& response, bool head_alone = false) {
  std::string reason(http_error_code(response.status));
  std::ranges::replace(reason, '_', ' ');
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason);
  for (const auto& [name, value] : headers_of(response, false)) text += fmt::format("{}: {}\r\n", name, value);
  return text + fmt::format("Connection: close\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}", response.type,
                            response.body.size(), head_alone ? "" : response.body);
}

HttpResponse response_of(const std::function<HttpResponse()>& work) {
  try {
    return work();
  } catch (const HttpError& e) {
    return error_response(e);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::bad_input && e.code() != ErrorCode::usage)
      return error_response(HttpError(500, e.what()));
    const BadInput parts = e.parts();
    return error_response(HttpError(400, e.message(), {parts.field, parts.expected, parts.found}));
  } catch (const std::bad_alloc&) {
    return error_response(HttpError(503, "out of memory"));
  } catch (const std::exception&) {
    return error_response(HttpError(500, "the request failed"));
  }
}

}  // namespace

class HttpServer::State : private httplib::Server {
 public:
  State(HttpServerOptions options, std::vector<Route> routes, Metrics& metrics)
      : options_(std::move(options)),
        routes_(std::move(routes)),
        metrics_(metrics),
        limiter_(options_.rate),
        listener_(options_.host, options_.port, options_.allow_remote),
        stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (stop_event_ < 0) throw Error(ErrorCode::failure, "no descriptor is left");
    workers_.reserve(options_.connections);
    idle_.reserve(options_.connections + 1);
    hosts_ = {"localhost", "127.0.0.1", "[::1]", listener_.address(), lower_case(options_.host)};
    set_payload_max_length(options_.body_bytes);
    set_keep_alive_timeout(std::chrono::ceil<std::chrono::seconds>(options_.idle).count());
    set_keep_alive_max_count(1000000);
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (request.method == "POST") return HandlerResponse::Unhandled;  // its body comes first
      answer(request, response);
      return HandlerResponse::Handled;
    });
    Post(".*", [this](const httplib::Request& request, httplib::Response& response,
                      const httplib::ContentReader& reader) { read_body_and_answer(request, response, reader); });
    set_error_handler(
        HandlerWithResponse([](const httplib::Request&, httplib::Response& response) {  // its own refusals have no body
          current->status = response.status;
          if (!response.body.empty()) return HandlerResponse::Unhandled;
          fill(response, error_response(HttpError(response.status, "the request is not valid")), false);
          response.set_header("Connection", "close");
          return HandlerResponse::Handled;
        }));
  }

  ~State() override {
    stop();
    ::close(stop_event_);
  }

  const Listener& listener() const { return listener_; }

  void start() {
    acceptor_ = std::thread([this] { accept_connections(); });
  }

  void stop() {
    if (stopping_.exchange(true)) return;
    const std::uint64_t one = 1;
    if (::write(stop_event_, &one, sizeof one) < 0) return;
    if (acceptor_.joinable()) acceptor_.join();
    listener_.close();
    { std::lock_guard lock(mutex_); }  // nobody is between looking at stopping_ and waiting
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
    workers_.clear();
  }

 private:
  struct Accepted {
    int socket;
    std::string address;
  };
  struct Refused {
    int socket;
    Clock::time_point until;
  };

  static void fill(httplib::Response& to, HttpResponse from, bool page) {
    to.status = from.status;
    for (const auto& [name, value] : headers_of(from, page)) to.set_header(name, value);
    to.set_header("Content-Type", from.type);
    to.body = std::move(from.body);
    current->status = from.status;
  }

  void answer(const httplib::Request& request, httplib::Response& response) {
    Exchange& exchange = *current;
    HttpRequest& asked = exchange.request;
    asked.method = request.method == "HEAD" ? "GET" : request.method;
    asked.path = request.path;
    for (const auto& [name, value] : request.params) asked.query.try_emplace(name, value);
    asked.deadline = exchange.connection->deadline();
    metrics_.add_in_flight(1);
    fill(response, response_of([&] { return exchange.route->handle(asked); }), exchange.route->page);
    metrics_.add_in_flight(-1);
    // The time of the response begins when there is one.
    exchange.connection->set_deadline(Clock::now() + options_.request);
  }

  void read_body_and_answer(const httplib::Request& request, httplib::Response& response,
                            const httplib::ContentReader& reader) {
    Exchange& exchange = *current;
    HttpRequest& asked = exchange.request;
    asked.type = media_type(exchange.head.find("content-type"));
    std::size_t bytes = 0;
    bool too_many = false;
    const auto fits = [&](std::size_t more) {
      bytes += more;
      return bytes <= options_.body_bytes;
    };
    bool complete = false;
    if (request.is_multipart_form_data()) {
      complete = reader(
          [&](const httplib::MultipartFormData& part) {
            too_many = asked.parts.size() == kMostParts;
            if (!too_many) asked.parts.push_back({part.name, media_type(&part.content_type), ""});
            return !too_many;
          },
          [&](const char* data, std::size_t size) {
            if (!fits(size) || asked.parts.empty()) return false;
            asked.parts.back().content.append(data, size);
            return true;
          });
    } else {
      asked.body = std::move(exchange.room);
      asked.body.clear();
      asked.body.reserve(std::min<std::size_t>(exchange.head.length.value_or(0), kMostKept));
      complete = reader([&](const char* data, std::size_t size) {
        if (!fits(size)) return false;
        asked.body.append(data, size);
        return true;
      });
    }
    exchange.body_complete = complete;
    if (complete) return answer(request, response);
    fill(response, error_response(body_error(exchange, bytes, too_many)), false);
    response.set_header("Connection", "close");
    exchange.connection->set_deadline(Clock::now() + options_.request);
  }

  HttpError body_error(const Exchange& exchange, std::size_t bytes, bool too_many_parts) const {
    if (exchange.connection->timed_out()) return {408, "the body of the request took too long"};
    if (bytes > options_.body_bytes) return too_large();
    if (too_many_parts) return {400, fmt::format("the body has more than {} parts", kMostParts)};
    return {400, "the body is not complete, or its parts are not valid"};
  }

  HttpError too_large() const { return {413, fmt::format("the body has more than {} bytes", options_.body_bytes)}; }

  HttpError refused(const char* reason, HttpError error) const {
    metrics_.add_refused(reason);
    return error;
  }

  /// Who asks, and for what: before the body is read. Sets the route.
  void check(Exchange& exchange, const std::string& address) const {
    const RequestHead& head = exchange.head;
    if (!limiter_.allows(address, Clock::now()))
      throw refused("rate", {429, "more requests than this address may send per second"});
    const std::string* host = head.find("host");
    if (std::ranges::count(head.headers, "host", &std::pair<std::string, std::string>::first) > 1 ||
        (host == nullptr && !head.http_1_0))
      throw HttpError(400, "the request has not one Host header");
    // A page of another site can have its name point here; it cannot change what its requests call this host. The port
    // may be another: that of a tunnel.
    if (listener_.is_loopback() && host != nullptr && std::ranges::find(hosts_, name_of(*host)) == hosts_.end())
      throw refused("host", {403, "the Host header does not name this server"});
    const std::string path = head.target.substr(0, head.target.find_first_of("?#"));
    const std::string method = head.method == "HEAD" ? "GET" : head.method;
    std::string allowed;
    for (const Route& route : routes_)
      if (matches(route.path, path, exchange.request.captured)) {
        allowed += (allowed.empty() ? "" : ", ") + route.method + (route.method == "GET" ? ", HEAD" : "");
        if (route.method != method) continue;
        exchange.route = &route;
        break;
      }
    if (!options_.token.empty() && (exchange.route == nullptr || !exchange.route->open)) {
      const std::string* given = head.find("authorization");
      const std::string_view scheme = "bearer ";
      if (given == nullptr || lower_case(given->substr(0, scheme.size())) != scheme ||
          !same_secret(std::string_view(*given).substr(scheme.size()), options_.token))
        throw refused("token", {401, "the request needs the token of the server"});
    }
    if (allowed.empty()) throw HttpError(404, "there is nothing at this path");
    if (exchange.route == nullptr)
      throw HttpError(405, "the path does not take this method", {"", allowed, head.method});
    if (method == "POST") {
      const std::string* origin = head.find("origin");
      const std::string from = origin == nullptr ? "" : lower_case(*origin),
                        here = host == nullptr ? "" : lower_case(*host);
      if (origin != nullptr && (host == nullptr || (from != "http://" + here && from != "https://" + here)))
        throw refused("origin", {403, "the request comes from a page of another site"});
      if (!head.length) throw HttpError(411, "the request has no Content-Length");
      if (*head.length > options_.body_bytes) throw too_large();
      const std::string* coding = head.find("content-encoding");
      if (coding != nullptr && *coding != "identity") throw HttpError(415, "compressed bodies are not taken");
      const std::string* expect = head.find("expect");
      if (expect != nullptr && lower_case(*expect) != "100-continue")
        throw HttpError(417, "the only expectation is 100-continue");
    } else if (head.has_body()) {
      throw HttpError(400, "a GET request has no body");
    }
  }

  /// Every request of a connection. Whether it was ended in favour of another.
  bool serve(const Accepted& accepted) {
    Connection connection(accepted.socket, stop_event_);
    bool unread = false, ended = false;
    std::string room;
    while (wait_for_request(connection, ended)) {
      const auto begin = Clock::now();
      connection.set_deadline(begin + options_.request);
      Exchange exchange;
      exchange.connection = &connection;
      exchange.room = std::move(room);
      bool keep = false, head_alone = false;
      std::optional<HttpError> error;
      try {
        const std::string head = connection.read_head(kMostHeadBytes);
        if (head.empty()) break;
        head_alone = head.starts_with("HEAD ");
        exchange.head = parse_request_head(head);
        exchange.body_complete = !exchange.head.has_body();
        check(exchange, accepted.address);
        keep = answer_on(connection, exchange);
      } catch (const HttpError& e) {
        error = e;
      } catch (const std::exception&) {  // no memory is left; other connections go on
        error = HttpError(503, "the server has no room for the request");
      }
      if (error) {
        HttpResponse response = error_response(*error);
        if (response.status == 405) response.headers.emplace_back("Allow", error->place().expected);
        const std::string text = closing_text(response, head_alone);
        exchange.status = response.status;
        connection.set_deadline(Clock::now() + options_.request);
        connection.write(text.data(), text.size());
        connection.flush();
      }
      metrics_.add_request(exchange.route == nullptr ? "none" : exchange.route->path, exchange.status,
                           std::chrono::duration<double>(Clock::now() - begin).count());
      room = std::move(exchange.request.body.empty() ? exchange.room : exchange.request.body);
      if (room.capacity() > 2 * kMostKept) room = {};
      if (keep) continue;
      unread = error || !exchange.body_complete;
      break;
    }
    if (unread) connection.close_gently(2 * options_.body_bytes);
    ::close(accepted.socket);
    return ended;
  }

  /// Whether the connection can be used again.
  bool answer_on(Connection& connection, Exchange& exchange) {
    const bool last = stopping_ || exchange.head.closes();
    connection.replay(exchange.head.text());
    current = &exchange;
    bool closed = false;
    const bool written = process_request(connection, last, closed, nullptr) && connection.flush();
    current = nullptr;
    return written && !last && !closed && exchange.body_complete;
  }

  void accept_connections() {
    std::vector<Refused> refusals;
    std::vector<pollfd> events;
    refusals.reserve(kMostRefused);  // this thread goes on when no memory is left
    events.reserve(kMostRefused + 2);
    while (!stopping_) {
      events = {{listener_.socket(), POLLIN, 0}, {stop_event_, POLLIN, 0}};
      for (const Refused& r : refusals) events.push_back({r.socket, POLLIN, 0});
      ::poll(events.data(), events.size(), refusals.empty() ? -1 : 100);
      drain(refusals);
      sockaddr_storage peer{};
      socklen_t size = sizeof peer;
      const int socket =
          ::accept4(listener_.socket(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (socket < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
          std::this_thread::sleep_for(std::chrono::milliseconds(10));  // until a connection ends
        continue;
      }
      const int yes = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      try {
        if (!hand_over({socket, address_of(peer)})) refuse(socket, refusals);
      } catch (const std::bad_alloc&) {
        ::close(socket);
      }
    }
    for (const Refused& r : refusals) ::close(r.socket);
  }

  void refuse(int socket, std::vector<Refused>& refusals) const {
    metrics_.add_refused("connections");
    const std::string text = closing_text(error_response(HttpError(503, "all connections are taken")));
    const bool told = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    ::shutdown(socket, SHUT_WR);
    if (told && refusals.size() < kMostRefused)
      refusals.push_back({socket, Clock::now() + std::chrono::seconds(1)});
    else
      ::close(socket);
  }

  /// Closes what was refused once the other side has hung up: closed earlier, it might not read why.
  static void drain(std::vector<Refused>& refusals) {
    std::erase_if(refusals, [](const Refused& r) {
      char ignored[4096];
      const ssize_t got = ::recv(r.socket, ignored, sizeof ignored, MSG_DONTWAIT);
      const bool open = (got > 0 || (got < 0 && errno == EAGAIN)) && Clock::now() < r.until;
      if (!open) ::close(r.socket);
      return !open;
    });
  }

  /// False: all connections are busy, or there can be no further thread.
  bool hand_over(Accepted accepted) {
    {
      std::lock_guard lock(mutex_);
      if (open_ == options_.connections && !end_an_idle_connection()) return false;
      waiting_.push_back(std::move(accepted));
      try {
        if (open_ + 1 > workers_.size()) workers_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        waiting_.pop_back();
        return false;
      }
      ++open_;
    }
    metrics_.add_connections(1);
    wake_.notify_one();
    return true;
  }

  /// Of those that wait for a request, the one that has waited longest; its thread is free at once. False: there is
  /// none. The caller holds the mutex.
  bool end_an_idle_connection() {
    const auto longest = std::ranges::find_if(idle_, [](int socket) {
      char byte = 0;
      return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;  // else a request has come
    });
    if (longest == idle_.end()) return false;
    ::shutdown(*longest, SHUT_RDWR);
    idle_.erase(longest);
    --open_;
    return true;
  }

  /// Whether a request comes. `ended`: the connection was ended in favour of another, and is no longer counted.
  bool wait_for_request(Connection& connection, bool& ended) {
    {
      std::lock_guard lock(mutex_);
      idle_.push_back(connection.socket());
    }
    const bool came = connection.wait_for_request(options_.idle);
    std::lock_guard lock(mutex_);
    ended = std::erase(idle_, connection.socket()) == 0;
    return came && !ended;
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return !waiting_.empty() || stopping_; });
      if (waiting_.empty()) return;
      const Accepted accepted = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      const bool ended = serve(accepted);
      metrics_.add_connections(-1);
      lock.lock();
      if (!ended) --open_;
    }
  }

  const HttpServerOptions options_;
  const std::vector<Route> routes_;
  Metrics& metrics_;
  mutable RateLimiter limiter_;
  Listener listener_;
  std::vector<std::string> hosts_;  ///< what a Host header may say on loopback
  int stop_event_;
  std::atomic<bool> stopping_{false};
  std::thread acceptor_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Accepted> waiting_;
  std::vector<std::thread> workers_;
  std::vector<int> idle_;  ///< sockets of connections that wait for a request, the longest first
  std::size_t open_ = 0;   ///< connections, waiting ones included
};

HttpServer::HttpServer(HttpServerOptions options, std::vector<Route> routes, Metrics& metrics)
    : state_(std::make_unique<State>(std::move(options), std::move(routes), metrics)) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return state_->listener().port(); }
bool HttpServer::is_loopback() const { return state_->listener().is_loopback(); }
std::string HttpServer::address() const {
  return fmt::format("http://{}:{}", state_->listener().address(), state_->listener().port());
}
void HttpServer::start() { state_->start(); }
void HttpServer::stop() { state_->stop(); }

}  // namespace parsnets
