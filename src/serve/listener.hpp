#pragma once
// A socket that listens.

#include <string>

namespace parsnets {

/// Owns the socket.
class Listener {
 public:
  /// `host`: a name or an address; `port` 0: any that is free. Throws usage when it cannot be had, or when it is not a
  /// loopback address and `allow_remote` is false.
  Listener(const std::string& host, int port, bool allow_remote);
  ~Listener();
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

}  // namespace parsnets
