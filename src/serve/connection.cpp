#include "serve/connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace parsnets {

namespace {

constexpr std::size_t kPiece = 64 << 10;  // bytes of one read

int milliseconds_until(Clock::time_point time) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

}  // namespace

bool Connection::wait_for_request(std::chrono::milliseconds most) {
  if (taken_ < received_.size()) return true;
  const auto until = Clock::now() + most;
  pollfd events[2]{{socket_, POLLIN, 0}, {stop_, POLLIN, 0}};
  while (::poll(events, 2, milliseconds_until(until)) < 0)
    if (errno != EINTR) return false;
  return (events[0].revents & POLLIN) != 0;
}

/// `stop`: a descriptor that ends the wait, too.
bool Connection::wait(short events, int stop) {
  for (;;) {
    const int left = milliseconds_until(deadline_);
    if (left == 0) break;
    pollfd either[2]{{socket_, events, 0}, {stop, POLLIN, 0}};
    const int found = ::poll(either, 2, left);
    if (found > 0) return either[0].revents != 0;
    if (found == 0) break;
    if (errno != EINTR) return false;
  }
  timed_out_ = true;
  return false;
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

std::string Connection::read_head(std::size_t most, const std::function<void()>& on_part) {
  bool told = !on_part;
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
    if (!told && checked > 0) {
      on_part();
      told = true;
    }
    if (receive(stop_)) continue;
    if (timed_out_) throw HttpError(408, "the headers took too long to arrive");
    return "";
  }
}

void Connection::replay(std::string head) {
  replayed_ = std::move(head);
  replayed_taken_ = 0;
  bytes_read_ = 0;
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
  bytes_read_ += count;
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
  deadline_ = std::min(deadline_, Clock::now() + longest);
  timed_out_ = false;
  for (std::size_t bytes = 0; !ended_ && bytes < most; bytes += received_.size()) {
    taken_ = received_.size();
    if (!receive()) break;
  }
}

}  // namespace parsnets
