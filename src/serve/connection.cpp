#include "serve/connection.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "serve/http.hpp"
#include "serve/request_checks.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kPiece = 64 << 10;  // bytes of one read

int milliseconds_until(Clock::time_point time) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

constexpr std::size_t kMostReserved = 1 << 20;  // bytes for a body before any of it has come

/// cpp-httplib does not tell its handlers which connection they serve.
thread_local Exchange* current = nullptr;

void fill(httplib::Response& to, HttpResponse from, bool page) {
  to.status = from.status;
  for (const auto& [name, value] : headers_of(from, page)) to.set_header(name, value);
  to.set_header("Content-Type", from.type);
  to.body = std::move(from.body);
  current->status = from.status;
}

}  // namespace

/// Negative: failed; 0: it took too long; else bits: 1 for the socket, 2 for `stop`, a descriptor that ends the wait.
int Connection::poll_for(Wait wait, short events, int stop, Clock::time_point until) {
  pollfd either[2]{{socket_, events, 0}, {stop, POLLIN, 0}};
  int found = 0;
  on_wait_(wait);
  do found = ::poll(either, 2, milliseconds_until(until));
  while (found < 0 && errno == EINTR);
  on_wait_(Wait::nothing);
  return found <= 0 ? found : (either[0].revents != 0 ? 1 : 0) | (either[1].revents != 0 ? 2 : 0);
}

bool Connection::wait_for_request(std::chrono::milliseconds most) {
  if (taken_ < received_.size()) return true;
  const int found = poll_for(Wait::request, POLLIN, stop_, Clock::now() + most);
  return found > 0 && (found & 1) != 0;
}

bool Connection::wait(short events, int stop) {
  const int found = milliseconds_until(deadline_) == 0 ? 0 : poll_for(needs_, events, stop, deadline_);
  timed_out_ = timed_out_ || found == 0;
  return found > 0 && (found & 1) != 0;
}

/// More bytes in received_; false: the other side sends none, or not in time or before `stop`.
bool Connection::receive(int stop) {
  if (taken_ == received_.size()) {
    received_.clear();
    taken_ = 0;
  }
  while (!ended_) {
    if (Clock::now() >= deadline_) {  // also while bytes keep coming
      timed_out_ = true;
      return false;
    }
    const std::size_t before = received_.size();
    received_.resize(before + kPiece);
    const ssize_t got = ::recv(socket_, received_.data() + before, kPiece, 0);
    received_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0) return true;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!wait(POLLIN, stop)) return false;
    } else if (got == 0 || errno != EINTR) {
      ended_ = true;
    }
  }
  return false;
}

std::string Connection::read_head(std::size_t most) {
  for (std::size_t checked = 0;;) {
    const std::string_view head = std::string_view(received_).substr(taken_);
    for (; checked < std::min(head.size(), most); ++checked) {
      const char c = head[checked];
      if ((c == '\n' && (checked == 0 || head[checked - 1] != '\r')) ||
          (checked > 0 && head[checked - 1] == '\r' && c != '\n'))
        throw HttpError(400, "every header line must end in CRLF");
      if (static_cast<unsigned char>(c) < ' ' && c != '\r' && c != '\n' && c != '\t')
        throw HttpError(400, "the headers contain a control character");
      if (c != '\n' || checked < 3 || head[checked - 2] != '\n') continue;
      std::string whole(head.substr(0, checked + 1));
      taken_ += whole.size();
      return whole;
    }
    if (checked >= most) throw HttpError(431, "the headers are too large");
    if (receive(stop_)) continue;
    if (timed_out_) throw HttpError(408, "the headers took too long to arrive");
    return "";
  }
}

void Connection::replay(std::string head) {
  replayed_ = std::move(head);
  replayed_taken_ = 0;
}

ssize_t Connection::read(char* data, std::size_t size) {
  if (replayed_taken_ < replayed_.size()) {
    const std::size_t count = std::min(size, replayed_.size() - replayed_taken_);
    std::memcpy(data, replayed_.data() + replayed_taken_, count);
    replayed_taken_ += count;
    return static_cast<ssize_t>(count);
  }
  if (!written_.empty() && !flush()) return -1;  // 100 Continue
  if (taken_ == received_.size() && !receive()) return timed_out_ ? -1 : 0;
  const std::size_t count = std::min(size, received_.size() - taken_);
  std::memcpy(data, received_.data() + taken_, count);
  taken_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* data, std::size_t size) {
  if (size < kPiece)
    written_.append(data, size);
  else if (!send_all(std::exchange(written_, {}), true) || !send_all({data, size}, false))
    return -1;
  return static_cast<ssize_t>(size);
}

bool Connection::flush() { return send_all(std::exchange(written_, {}), false); }

bool Connection::send_all(std::string_view data, bool more) {
  while (!data.empty()) {
    const ssize_t sent = ::send(socket_, data.data(), data.size(), MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    if (sent > 0)
      data.remove_prefix(static_cast<std::size_t>(sent));
    else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait(POLLOUT)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

void Connection::close_gently(std::size_t most, std::chrono::milliseconds longest) {
  ::shutdown(socket_, SHUT_WR);
  needs_ = Wait::hang_up;
  deadline_ = std::min(deadline_, Clock::now() + longest);
  timed_out_ = false;
  for (std::size_t bytes = 0; !ended_ && bytes < most; bytes += received_.size()) {
    taken_ = received_.size();
    if (!receive()) break;
  }
}

Exchanger::Exchanger(ExchangeLimits limits, Metrics& metrics) : limits_(limits), metrics_(metrics) {
  set_payload_max_length(limits_.body_bytes);
  set_keep_alive_timeout(std::chrono::ceil<std::chrono::seconds>(limits_.idle).count());
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

bool Exchanger::finish(Exchange& exchange, bool last) {
  Connection& connection = *exchange.connection;
  connection.replay(exchange.head.text());
  current = &exchange;
  bool closed = false;
  const bool written = process_request(connection, last, closed, nullptr) && connection.flush();
  current = nullptr;
  return written && !last && !closed && exchange.body_complete;
}

void Exchanger::answer(const httplib::Request& request, httplib::Response& response) {
  Exchange& exchange = *current;
  HttpRequest& asked = exchange.request;
  asked.method = request.method == "HEAD" ? "GET" : request.method;
  asked.path = request.path;
  asked.captured = std::move(exchange.found.captured);
  asked.deadline = exchange.connection->deadline();
  const Route& route = *exchange.found.route;
  metrics_.add_in_flight(1);
  fill(response, response_of([&] {
         asked.query = checked_query(request.params, route);
         return route.handle(asked);
       }),
       route.page);
  metrics_.add_in_flight(-1);
  // The time of the response begins when there is one.
  exchange.connection->set_deadline(Clock::now() + limits_.response);
}

void Exchanger::read_body_and_answer(const httplib::Request& request, httplib::Response& response,
                                     const httplib::ContentReader& reader) {
  Exchange& exchange = *current;
  HttpRequest& asked = exchange.request;
  if (const std::string* type = exchange.head.find("content-type")) asked.type = media_type(*type);
  asked.body = std::move(exchange.room);
  asked.body.clear();
  asked.body.reserve(std::min<std::size_t>(exchange.head.length.value_or(0), kMostReserved));
  const bool complete = reader([&](const char* data, std::size_t size) {
    asked.body.append(data, size);
    return asked.body.size() <= limits_.body_bytes;
  });
  exchange.body_complete = complete;
  if (complete) return answer(request, response);
  const HttpError error = exchange.connection->timed_out() ? HttpError(408, "the body took too long to arrive")
                          : asked.body.size() > limits_.body_bytes
                              ? HttpError(413, fmt::format("the body has more than {} bytes", limits_.body_bytes))
                              : HttpError(400, "the body is incomplete");
  fill(response, error_response(error), false);
  response.set_header("Connection", "close");
  exchange.connection->set_deadline(Clock::now() + limits_.response);
}

}  // namespace parsnets
