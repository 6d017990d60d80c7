#include "serve/connection.hpp"

#include <algorithm>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/write.hpp>
#include <thread>

namespace parsnets {

namespace {

using asio::ip::tcp;
using Phase = Connection::Phase;

constexpr std::size_t kLeastOfAddress = 16;      // connections of an address that is the only one
constexpr std::size_t kMostRefused = 64;         // connections that are told so and have not hung up yet
constexpr std::size_t kMostReserved = 1u << 20;  // bytes for a body before any of it has come

/// The refused make room first, then the idle; all others in the order in which they began to wait, so that nobody who
/// has just come goes before those who have let the server wait.
int rank_of(Phase phase) { return std::min(static_cast<int>(phase), static_cast<int>(Phase::fresh)); }

/// Whether nothing of a request has been read.
bool is_between(Phase phase) { return phase == Phase::idle || phase == Phase::fresh; }

}  // namespace

void ServerLoop::take(tcp::socket socket, std::string address) {
  std::size_t all = 0, own = 0, refused = 0;
  for (const auto& one : open) {
    all += one->is_served();
    own += one->is_served() && one->address() == address;
    refused += !one->is_served();
  }
  const bool crowded = own >= std::max(options.connections / 2, kLeastOfAddress);
  const bool served = (!crowded && all < options.connections) || make_room(crowded ? &address : nullptr);
  if (!served) {
    metrics.add_refused("connections");
    if (refused >= kMostRefused)
      std::shared_ptr(*std::ranges::find_if(open, [](const auto& one) { return !one->is_served(); }))->close();
  }
  const auto connection = std::make_shared<Connection>(*this, std::move(socket), std::move(address), served);
  connection->begin();
}

/// `address`: one of these ends; null: of any. False: there is none to end.
bool ServerLoop::make_room(const std::string* address) {
  std::shared_ptr<Connection> first;
  for (const auto& one : open)
    if (one->is_served() && (address == nullptr || one->address() == *address) && one->can_make_room() &&
        (first == nullptr || rank_of(one->phase()) < rank_of(first->phase())))
      first = one;
  if (first != nullptr) first->close();
  return first != nullptr;
}

void ServerLoop::stop() {
  stopping = true;
  for (const auto& one : std::vector(open.begin(), open.end()))
    if (is_between(one->phase()) || one->phase() == Phase::head) one->close();
}

Connection::Connection(ServerLoop& loop, tcp::socket socket, std::string address, bool served)
    : loop_(loop), socket_(std::move(socket)), timer_(loop.io), address_(std::move(address)), served_(served) {
  socket_.non_blocking(true);
  socket_.set_option(tcp::no_delay(true));
}

void Connection::begin() {
  place_ = loop_.open.insert(loop_.open.end(), shared_from_this());
  loop_.metrics.add_connections(served_);
  safely([this] { served_ ? next_request() : throw HttpError(503, "too many connections"); });
}

bool Connection::can_make_room() {
  std::error_code failed;
  return phase_ != Phase::answering && (!is_between(phase_) || socket_.available(failed) == 0);
}

/// Errors of the work become responses. What was due when the connection ended is not done.
template <class Work>
void Connection::safely(const Work& work) {
  if (!socket_.is_open()) return;
  try {
    try {
      work();
    } catch (const HttpError& error) {
      refuse(error);
    } catch (const std::exception&) {
      refuse(HttpError(503, "the server is out of memory"));
    }
  } catch (const std::exception&) {  // not even for a refusal; other connections go on
    close();
  }
}

void Connection::enter(Phase phase, std::chrono::milliseconds limit, Clock::time_point from) {
  phase_ = phase;
  loop_.open.splice(loop_.open.end(), loop_.open, place_);
  timer_.expires_at(from + limit);
  timer_.async_wait([self = shared_from_this()](std::error_code cancelled) {
    if (!cancelled && Clock::now() >= self->timer_.expiry()) self->safely([&] { self->time_is_over(); });
  });
}

void Connection::time_is_over() {
  if (phase_ == Phase::head) throw HttpError(408, "the headers took too long to arrive");
  if (phase_ == Phase::body) throw HttpError(408, "the body took too long to arrive");
  if (phase_ != Phase::answering) close();
}

void Connection::close() {
  if (!socket_.is_open()) return;
  std::error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  loop_.metrics.add_connections(-static_cast<int>(served_));
  loop_.open.erase(place_);
}

void Connection::read() {
  if (reading_ || !socket_.is_open()) return;
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](std::error_code failed) {
    self->reading_ = false;
    if (!failed) self->safely([&] { self->receive(); });
  });
  reading_ = true;
}

void Connection::receive() {
  if (phase_ == Phase::response || phase_ == Phase::answering) return;  // one request after the other
  const bool body = phase_ == Phase::body;
  const std::size_t most = body ? now_.head.length.value_or(0) - now_.request.body.size() : loop_.piece.size();
  std::error_code failed;
  const std::size_t got = socket_.read_some(asio::buffer(loop_.piece, most), failed);
  if (failed == asio::error::would_block || failed == asio::error::interrupted) return read();
  const std::string_view bytes(loop_.piece.data(), got);  // none: the client has ended or is gone
  if (phase_ == Phase::refused) {
    discarded_ += got;
    return got > 0 && discarded_ < 2 * loop_.options.body_bytes ? read() : close();
  }
  if (body) {
    if (got == 0) throw HttpError(400, "the body is incomplete");
    now_.request.body += bytes;
    return take_body();
  }
  if (got == 0) return close();
  if (is_between(phase_)) now_.begin = Clock::now();
  received_ += bytes;
  take_head();
}

void Connection::next_request() {
  now_ = {};
  if (loop_.stopping) return close();
  enter(phase_ == Phase::fresh ? Phase::fresh : Phase::idle, loop_.options.idle);
  received_.empty() ? read() : take_head();
}

void Connection::take_head() {
  const std::size_t end = end_of_head(received_, now_.checked);
  if (end == 0) {
    if (is_between(phase_)) enter(Phase::head, std::min(loop_.options.head, loop_.options.request), now_.begin);
    return read();
  }
  now_.head = parse_request_head(std::string_view(received_).substr(0, end));
  loop_.checks->check(now_.head, address_, now_.found);
  const std::size_t length = now_.head.length.value_or(0), here = std::min(length, received_.size() - end);
  now_.request.body.reserve(std::min(length, kMostReserved));
  now_.request.body.assign(received_, end, here);
  received_.erase(0, end + here);
  if (here == length) return answer();
  enter(Phase::body, loop_.options.request, now_.begin);
  now_.head.find("expect") != nullptr ? send("HTTP/1.1 100 Continue\r\n\r\n", "", &Connection::take_body) : take_body();
}

void Connection::take_body() { now_.request.body.size() == now_.head.length ? answer() : read(); }

void Connection::answer() {
  phase_ = Phase::answering;
  timer_.cancel();
  HttpRequest& request = now_.request;
  request.method = now_.head.method == "HEAD" ? "GET" : now_.head.method;
  request.path = now_.head.path();
  if (const std::string* type = now_.head.find("content-type")) request.type = media_type(*type);
  request.captured = now_.found.captured;
  request.deadline = now_.begin + loop_.options.request;
  if (now_.found.route->open) {  // ready texts: a health check waits for no thread
    work();
    return finish();
  }
  asio::post(loop_.workers, [self = shared_from_this(), busy = asio::make_work_guard(loop_.io)] {
    self->work();
    for (;;) {
      try {
        return asio::post(self->loop_.io, [self] { self->safely([&] { self->finish(); }); });
      } catch (const std::exception&) {  // no memory is left; the loop will free some
        std::this_thread::yield();
      }
    }
  });
}

void Connection::work() {
  loop_.metrics.add_in_flight(1);
  now_.response = response_of([&] {
    now_.request.query = checked_query(now_.head.target, *now_.found.route);
    return now_.found.route->handle(now_.request);
  });
  loop_.metrics.add_in_flight(-1);
}

void Connection::finish() {
  const bool last = loop_.stopping || now_.head.closes();
  respond(last, last ? &Connection::close : &Connection::next_request);
}

void Connection::respond(bool last, void (Connection::*then)()) {
  HttpResponse& response = now_.response;
  const Route* route = now_.found.route;
  if (served_)
    loop_.metrics.add_request(route == nullptr ? "none" : route->path, response.status,
                              std::chrono::duration<double>(Clock::now() - now_.begin).count());
  std::string head = response_head(response, route != nullptr && route->page, last);
  if (now_.head.method == "HEAD") response.body.clear();
  enter(Phase::response, loop_.options.request);
  send(std::move(head), std::move(response.body), then);
}

void Connection::refuse(const HttpError& error) {
  now_.response = error_response(error);
  if (received_.starts_with("HEAD ")) now_.head.method = "HEAD";
  if (error.status() == 405) now_.response.headers.emplace_back("Allow", error.place().expected);
  respond(true, &Connection::hang_up);
}

void Connection::send(std::string head, std::string body, void (Connection::*then)()) {
  sent_ = {std::move(head), std::move(body)};
  asio::async_write(socket_, std::array{asio::buffer(sent_.first), asio::buffer(sent_.second)},
                    [self = shared_from_this(), then](std::error_code failed, std::size_t) {
                      if (failed) return self->close();
                      self->sent_ = {};
                      self->safely([&] { ((*self).*then)(); });
                    });
}

void Connection::hang_up() {
  std::error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  enter(Phase::refused, loop_.options.drain);
  read();
}

}  // namespace parsnets
