#pragma once
// A socket that listens.

#include <chrono>
#include <functional>
#include <string>

namespace parsnets {

/// Owns the socket.
class Listener {
 public:
  /// `host`: a name or an address; `port` 0: any that is free. Throws usage when it cannot be had, or when it is not a
  /// loopback address and `allow_remote` is false.
  Listener(const std::string& host, int port, bool allow_remote);
  ~Listener() { close(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int socket() const { return socket_; }
  int port() const { return port_; }
  const std::string& address() const { return address_; }  ///< numeric; in brackets for IPv6
  bool is_loopback() const { return loopback_; }
  /// Nobody can connect any more.
  void close();

 private:
  int socket_ = -1, port_ = 0;
  std::string address_;
  bool loopback_ = false;
};

// Takes connections from a socket that listens, and tells those for which there is no room.

/// Until `stop` becomes readable. `listening` must not block. `take` gets a socket, which does not block, and the bytes
/// of the client's address, of IPv6 those of the network; it becomes the owner of the socket unless it returns false or
/// throws bad_alloc. Connections that it does not take get 503, after `refused` was called, and are closed when
/// the client has hung up or after `drain`.
void accept_connections(int listening, int stop, std::chrono::milliseconds drain,
                        const std::function<bool(int, std::string)>& take, const std::function<void()>& refused);

}  // namespace parsnets
