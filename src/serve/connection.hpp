#pragma once
// Connections: each goes from request to request by the events of one loop. The thread of the loop owns all sockets, so
// that a slow client costs a few hundred bytes and no thread; routes answer on threads of their own.

#include <array>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <list>
#include <memory>
#include <string>

#include "serve/http.hpp"
#include "serve/http_server.hpp"
#include "serve/metrics.hpp"
#include "serve/request_checks.hpp"

namespace parsnets {

class Connection;

/// What the connections of a server share. For the thread of the loop alone.
struct ServerLoop {
  const HttpServerOptions options;
  Metrics& metrics;
  asio::io_context io{};
  asio::thread_pool workers;
  std::unique_ptr<const RequestChecks> checks{};
  std::list<std::shared_ptr<Connection>> open{};  ///< who has waited longest for its client first
  std::array<char, 64 << 10> piece{};             ///< what is read lands here first
  bool stopping = false;

  ServerLoop(HttpServerOptions with, Metrics& counters)
      : options(std::move(with)), metrics(counters), workers(options.connections) {}
  /// Serves a client, or refuses it where there is no room. Where a connection waits for its client, that one goes.
  void take(asio::ip::tcp::socket socket, std::string address);
  /// From here on responses end their connections; those without a whole head end now.
  void stop();

 private:
  bool make_room(const std::string* address);
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// What it does. All but the last wait for the client. `fresh`: for the first request, `idle`: for another one.
  enum class Phase { refused, idle, fresh, head, body, response, answering };

  /// `address`: the bytes of the client's address, of IPv6 those of the network. `served`: it takes one of the places.
  Connection(ServerLoop& loop, asio::ip::tcp::socket socket, std::string address, bool served);
  /// It waits for a request, or tells that there is no room.
  void begin();
  void close();

  Phase phase() const { return phase_; }
  const std::string& address() const { return address_; }
  bool is_served() const { return served_; }
  /// Whether it waits for its client, and nothing has come.
  bool can_make_room();

 private:
  template <class Work>
  void safely(const Work& work);
  void enter(Phase phase, std::chrono::milliseconds limit, Clock::time_point from = Clock::now());
  void time_is_over();
  void read();
  void receive();
  void next_request();
  void take_head();
  void take_body();
  void answer();
  void work();
  void finish();
  void respond(bool last, void (Connection::*then)());
  void send(std::string head, std::string body, void (Connection::*then)());
  /// Tells an error and ends the connection once the client has hung up: ended earlier, it might not read why.
  void refuse(const HttpError& error);
  void hang_up();

  ServerLoop& loop_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  const std::string address_;
  const bool served_;
  std::list<std::shared_ptr<Connection>>::iterator place_{};
  Phase phase_ = Phase::fresh;
  bool reading_ = false;  ///< it will be called when there is something to read
  std::string received_;
  std::pair<std::string, std::string> sent_;  ///< head and body, while they are
  std::size_t discarded_ = 0;                 ///< bytes that came after it was refused

  struct Exchange {
    Clock::time_point begin = Clock::now();  ///< of its first byte
    std::size_t checked = 0;                 ///< bytes of the head
    RequestHead head;
    FoundRoute found;
    HttpRequest request;
    HttpResponse response;
  } now_;
};

}  // namespace parsnets
