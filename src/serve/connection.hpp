#pragma once
// One connection: buffered, with a time by which reading or writing has to be done, however slow the other side is.

#include <httplib.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "serve/http.hpp"
#include "serve/metrics.hpp"
#include "serve/request_checks.hpp"

namespace parsnets {

/// What a connection waits for from its client. Earlier ones make room for other connections first.
enum class Wait { nothing, hang_up, request, rest };

/// Does not own the socket, which must not block. The stream that cpp-httplib reads a request from and writes its
/// response to.
class Connection : public httplib::Stream {
 public:
  /// `stop`: a descriptor that becomes readable when the server stops. `on_wait` is told when a wait begins, and with
  /// `nothing` when it ends.
  Connection(
      int socket, int stop, std::function<void(Wait)> on_wait = [](Wait) {})
      : socket_(socket), stop_(stop), on_wait_(std::move(on_wait)) {}

  /// Waits for the first byte of a request; false: none came, or the server stops.
  bool wait_for_request(std::chrono::milliseconds most);
  /// From here on read() and write() fail after this time.
  void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }
  Clock::time_point deadline() const { return deadline_; }
  /// Bytes up to and including the empty line; they are consumed. Empty: the connection ended first. Throws HttpError:
  /// 408, 431 above `most` bytes, 400 for what can be no head. Nobody waits for the rest when the server stops.
  std::string read_head(std::size_t most);
  /// What read() gives before the bytes that come from the other side.
  void replay(std::string head);
  /// Sends what was written.
  bool flush();
  /// Ends the connection so that a response can be read by a client that is still sending: takes `most` bytes of it
  /// for `longest`.
  void close_gently(std::size_t most, std::chrono::milliseconds longest);

  bool timed_out() const { return timed_out_; }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* data, std::size_t size) override;
  ssize_t write(const char* data, std::size_t size) override;
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  bool receive(int stop = -1);
  bool wait(short events, int stop = -1);
  bool send_all(std::string_view data, bool more);

  int poll_for(Wait wait, short events, int stop, Clock::time_point until);

  int socket_, stop_;
  const std::function<void(Wait)> on_wait_;
  Wait needs_ = Wait::rest;
  Clock::time_point deadline_ = Clock::time_point::max();
  std::string received_, replayed_, written_;
  std::size_t taken_ = 0, replayed_taken_ = 0;  ///< of received_, of replayed_
  bool timed_out_ = false, ended_ = false;
};

// A request between its head and its response: cpp-httplib reads the body and writes the response.

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
