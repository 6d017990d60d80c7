#include "base/channel.hpp"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace parsnets {

constexpr std::size_t kChannelBuffer = 128 << 10;

Channel::Channel(Descriptor socket, unsigned seconds, std::function<void()> while_silent)
    : socket_(std::move(socket)), seconds_(seconds), while_silent_(std::move(while_silent)) {
  const timeval wait{seconds > 0 ? 1 : 0, 0};
  for (const int direction : {SO_RCVTIMEO, SO_SNDTIMEO})
    ::setsockopt(socket_, SOL_SOCKET, direction, &wait, sizeof wait);
}

void Channel::wait_more(unsigned& waited) const {
  while_silent_();
  if (++waited >= seconds_) throw ChannelEnded("no answer for " + std::to_string(seconds_) + " s");
}

void Channel::put(const void* data, std::size_t bytes) {
  if (out_.size() + bytes > kChannelBuffer) send();
  const auto* begin = static_cast<const char*>(data);
  if (bytes > kChannelBuffer) return send_all(begin, bytes);
  out_.insert(out_.end(), begin, begin + bytes);
}

void Channel::put_text(std::string_view text) {
  put_number(text.size());
  put(text.data(), text.size());
}

void Channel::send() {
  send_all(out_.data(), out_.size());
  out_.clear();
}

void Channel::send_all(const char* data, std::size_t bytes) {
  unsigned waited = 0;
  while (bytes > 0) {
    const ssize_t sent = ::send(socket_, data, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) throw ChannelEnded();
    if (sent < 0) {
      wait_more(waited);
      continue;
    }
    data += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

std::size_t Channel::receive(void* data, std::size_t bytes) {
  for (unsigned waited = 0;;) {
    const ssize_t got = ::recv(socket_, data, bytes, 0);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || errno != EAGAIN) throw ChannelEnded();
    wait_more(waited);
  }
}

void Channel::get(void* data, std::size_t bytes) {
  auto* out = static_cast<char*>(data);
  while (bytes > 0) {
    if (read_ == in_.size()) {
      if (bytes >= kChannelBuffer) {
        const std::size_t got = receive(out, bytes);
        out += got;
        bytes -= got;
        continue;
      }
      read_ = 0;
      in_.resize(kChannelBuffer);
      try {
        in_.resize(receive(in_.data(), in_.size()));
      } catch (...) {
        in_.clear();
        throw;
      }
    }
    const std::size_t taken = std::min(bytes, in_.size() - read_);
    std::memcpy(out, in_.data() + read_, taken);
    read_ += taken;
    out += taken;
    bytes -= taken;
  }
}

std::uint64_t Channel::get_number() {
  std::uint64_t number = 0;
  get(&number, sizeof number);
  return number;
}

std::string Channel::get_text(std::uint64_t most_bytes) {
  const std::uint64_t bytes = get_number();
  if (bytes > most_bytes) throw ChannelEnded("more text than the file can hold");
  std::string text(bytes, '\0');
  get(text.data(), text.size());
  return text;
}

}  // namespace parsnets
