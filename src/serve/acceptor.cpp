#include "serve/acceptor.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "serve/response_text.hpp"

namespace parsnets {

namespace {

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
