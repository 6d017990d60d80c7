#pragma once
// A client that sends any bytes, and waits for what comes back, never for a time.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace parsnets::test {

struct RawResponse {
  int status = 0;                              ///< 0: the connection ended without a response
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
  /// The title of a problem document that says the status of the response; empty: none.
  std::string problem() const {
    const auto type = headers.find("content-type");
    const auto parsed = json();
    const bool found = type != headers.end() && type->second == "application/problem+json" && parsed.is_object() &&
                       parsed.value("status", 0) == status;
    return found ? parsed.value("title", "") : "";
  }
};

class RawClient {
 public:
  /// `from`, `to`: addresses of loopback.
  explicit RawClient(int port, int receive_buffer = 0, const char* from = "127.0.0.1", const char* to = "127.0.0.1")
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, from, &address.sin_addr);
    connected_ = ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, to, &address.sin_addr);
    connected_ = connected_ && ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  int socket() const { return socket_; }
  /// False: the other side takes no more.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Nothing more will be sent.
  void end() { ::shutdown(socket_, SHUT_WR); }
  /// Whether the other side has closed; waits for it, or for bytes.
  bool closed() {
    char byte = 0;
    return received_.empty() && ::recv(socket_, &byte, 1, MSG_PEEK) <= 0;
  }

  /// The next response; interim ones (100) are skipped. `head`: to a HEAD request, without a body.
  RawResponse receive(bool head = false) {
    RawResponse response;
    do {
      response = {};
      std::size_t end = 0;
      while ((end = received_.find("\r\n\r\n")) == std::string::npos)
        if (!more()) return {};
      std::size_t at = received_.find("\r\n") + 2;
      response.status = std::atoi(received_.c_str() + received_.find(' '));
      while (at < end + 2) {
        const auto line_end = received_.find("\r\n", at), colon = received_.find(':', at);
        std::string name = received_.substr(at, colon - at);
        for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        const auto value = received_.find_first_not_of(' ', colon + 1);
        response.headers[name] = received_.substr(value, line_end - value);
        at = line_end + 2;
      }
      received_.erase(0, end + 4);
    } while (response.status == 100);
    const auto length = static_cast<std::size_t>(std::atoll(response.headers["content-length"].c_str()));
    while (!head && received_.size() < length)
      if (!more()) return {};
    response.body = head ? "" : received_.substr(0, length);
    if (!head) received_.erase(0, length);
    return response;
  }

 private:
  bool more() {
    char buffer[65536];
    const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got > 0) received_.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }

  int socket_;
  bool connected_ = false;
  std::string received_;
};

/// A whole request. `more`: further header lines, each with its CRLF.
inline std::string request_text(int port, const std::string& method, const std::string& target,
                                const std::string& type = "", const std::string& body = "",
                                const std::string& more = "") {
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n" + more;
  if (!type.empty()) text += "Content-Type: " + type + "\r\n";
  if (method == "POST") text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

/// On a connection of its own; `from`, `to` as for RawClient.
inline RawResponse ask(int port, const std::string& text, const char* from = "127.0.0.1",
                       const char* to = "127.0.0.1") {
  RawClient client(port, 0, from, to);
  client.send(text);
  return client.receive(text.starts_with("HEAD"));
}

}  // namespace parsnets::test
