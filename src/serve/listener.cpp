#include "serve/listener.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

bool is_loopback_address(const sockaddr* address) {
  if (address->sa_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == 127;
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
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
    throw Error(ErrorCode::usage, fmt::format("{}: '{}' can be reached from other machines; this needs {} and a token",
                                              option_name("host"), host, option_name("allow-remote")));
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

Listener::~Listener() { close(); }

void Listener::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

}  // namespace parsnets
