#include "serve/listener.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "parsnets/error.hpp"
#include "serve/http.hpp"

namespace parsnets {

namespace {

bool is_loopback_address(const sockaddr* address) {
  if (address->sa_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == 127;
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

constexpr std::size_t kMostRefused = 64;  // connections that are told so and have not hung up yet

struct Refused {
  int socket;
  Clock::time_point until;
};

std::string address_of(const sockaddr_storage& peer) {
  if (peer.ss_family == AF_INET6) {
    const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
    const char* bytes = reinterpret_cast<const char*>(&address);
    if (IN6_IS_ADDR_V4MAPPED(&address)) return {bytes + 12, 4};
    return {bytes, 8};  // one household has many addresses, of one network
  }
  return {reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in&>(peer).sin_addr), 4};
}

void refuse(int socket, std::chrono::milliseconds drain, std::vector<Refused>& refusals) {
  const std::string text = closing_text(error_response(HttpError(503, "too many connections")));
  const bool told = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
  ::shutdown(socket, SHUT_WR);
  if (told && refusals.size() < kMostRefused)
    refusals.push_back({socket, Clock::now() + drain});
  else
    ::close(socket);
}

/// Closes what was refused once the other side has hung up: closed earlier, it might not read why.
void close_drained(std::vector<Refused>& refusals) {
  std::erase_if(refusals, [](const Refused& r) {
    char ignored[4096];
    const ssize_t got = ::recv(r.socket, ignored, sizeof ignored, MSG_DONTWAIT);
    const bool open = (got > 0 || (got < 0 && errno == EAGAIN)) && Clock::now() < r.until;
    if (!open) ::close(r.socket);
    return !open;
  });
}

}  // namespace

Listener::Listener(const std::string& host, int port, bool allow_remote) {
  addrinfo hints{}, *raw = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &raw); failed != 0)
    throw Error(ErrorCode::usage, fmt::format("{}: expected a name or an address of this machine, found '{}' ({})",
                                              option_name("host"), host, ::gai_strerror(failed)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> found(raw, ::freeaddrinfo);
  loopback_ = is_loopback_address(found->ai_addr);
  if (!loopback_ && !allow_remote)
    throw Error(ErrorCode::usage,
                fmt::format("{}: '{}' can be reached from other machines; this needs a token in {} or PARSNETS_TOKEN",
                            option_name("host"), host, option_name("token-file")));
  socket_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  if (socket_ >= 0) ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (socket_ < 0 || ::bind(socket_, found->ai_addr, found->ai_addrlen) != 0 || ::listen(socket_, 256) != 0) {
    const int why = errno;
    close();
    throw Error(ErrorCode::usage,
                fmt::format("{}: cannot listen on {} port {} ({}); choose another port, or 0 for a free one",
                            option_name("port"), host, port, std::strerror(why)));
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  char name[NI_MAXHOST] = "", service[NI_MAXSERV] = "";
  ::getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &size);
  ::getnameinfo(reinterpret_cast<sockaddr*>(&bound), size, name, sizeof name, service, sizeof service,
                NI_NUMERICHOST | NI_NUMERICSERV);
  port_ = std::stoi(service);
  address_ = bound.ss_family == AF_INET6 ? fmt::format("[{}]", name) : name;
}

void Listener::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void accept_connections(int listening, int stop, std::chrono::milliseconds drain,
                        const std::function<bool(int, std::string)>& take, const std::function<void()>& refused) {
  std::vector<Refused> refusals;
  std::vector<pollfd> events;
  refusals.reserve(kMostRefused);  // this thread goes on when no memory is left
  events.reserve(kMostRefused + 2);
  for (;;) {
    events = {{listening, POLLIN, 0}, {stop, POLLIN, 0}};
    for (const Refused& r : refusals) events.push_back({r.socket, POLLIN, 0});
    ::poll(events.data(), events.size(), refusals.empty() ? -1 : 100);
    if (events[1].revents != 0) break;
    close_drained(refusals);
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    const int socket = ::accept4(listening, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));  // until a connection ends
      continue;
    }
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    try {
      if (take(socket, address_of(peer))) continue;
      refused();
      refuse(socket, drain, refusals);
    } catch (const std::bad_alloc&) {
      ::close(socket);
    }
  }
  for (const Refused& r : refusals) ::close(r.socket);
}

}  // namespace parsnets
