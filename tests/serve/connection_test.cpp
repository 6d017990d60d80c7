#include "serve/connection.hpp"

#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <thread>

namespace {

using namespace parsnets;
using namespace std::chrono_literals;

/// The server's end of a connection and that of the client.
struct Ends {
  int server = -1, client = -1;
  Ends() {
    int ends[2]{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    server = ends[0];
    client = ends[1];
  }
  ~Ends() {
    ::close(server);
    ::close(client);
  }
  void send(std::string_view bytes) const {
    EXPECT_EQ(::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  /// Returns when the server has read all that was sent.
  void wait_until_read() const {
    for (int left = 1; left > 0;) ASSERT_EQ(::ioctl(server, FIONREAD, &left), 0);
  }
};

}  // namespace

TEST(Connection, TheDeadlineHoldsWhileBytesKeepComing) {
  const Ends pair;
  Connection connection(pair.server, -1);
  char bytes[3];
  pair.send("abc");
  connection.set_deadline(Clock::now() + 1h);
  EXPECT_EQ(connection.read(bytes, 3), 3);
  pair.send("abc");
  connection.set_deadline(Clock::now());
  EXPECT_EQ(connection.read(bytes, 3), -1);
  EXPECT_TRUE(connection.timed_out());
}

TEST(Connection, SaysWhenItWaitsForItsClientAndForWhat) {
  const Ends pair;
  std::vector<Wait> told;
  std::string more;
  Connection connection(pair.server, -1, [&](Wait wait) {
    told.push_back(wait);
    if (wait != Wait::nothing) pair.send(more);
  });
  connection.set_deadline(Clock::now() + 1h);
  pair.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(connection.read_head(1000), "GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(told.empty());
  more = "GET / ";
  EXPECT_TRUE(connection.wait_for_request(1h));
  EXPECT_EQ(told, (std::vector{Wait::request, Wait::nothing}));
  more = "HTTP/1.1\r\n\r\n";
  EXPECT_EQ(connection.read_head(1000), "GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(told, (std::vector{Wait::request, Wait::nothing, Wait::rest, Wait::nothing}));
}

TEST(Connection, WhenTheServerStopsNobodyWaitsForTheRestOfAHead) {
  const Ends pair, stop;
  Connection connection(pair.server, stop.server, [&](Wait) { stop.send("x"); });
  connection.set_deadline(Clock::now() + 1h);
  pair.send("GET / ");
  EXPECT_EQ(connection.read_head(1000), "");
  EXPECT_FALSE(connection.timed_out());
}

TEST(Exchange, ABodyArrivesWholeWhereverItsPiecesEnd) {
  const std::string body = "--b\r\nwhat only the route reads\r\n\r\n1\r\n--b--\r\n";
  const RequestHead head = parse_request_head(
      "POST /body HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=b\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n");
  Metrics metrics;
  Exchanger exchanger({}, metrics);
  for (std::size_t first = 0; first <= body.size(); ++first) {
    std::string arrived;
    const Route route{"POST", "/body", [&](const HttpRequest& request) {
                        arrived = request.body;
                        return HttpResponse{200, "text/plain", request.type};
                      }};
    const Ends ends;
    Connection connection(ends.server, -1);
    connection.set_deadline(Clock::now() + 1h);
    Exchange exchange;
    exchange.connection = &connection;
    exchange.head = head;
    exchange.found.route = &route;
    bool usable = false;
    std::thread server([&] { usable = exchanger.finish(exchange, false); });
    ends.send(body.substr(0, first));
    ends.wait_until_read();
    ends.send(body.substr(first));
    server.join();
    EXPECT_TRUE(usable);
    EXPECT_EQ(exchange.status, 200);
    EXPECT_EQ(arrived, body) << first;
    char response[4096];
    const ssize_t size = ::recv(ends.client, response, sizeof response, 0);
    ASSERT_GT(size, 0);
    EXPECT_TRUE(std::string_view(response, static_cast<std::size_t>(size)).ends_with("\r\n\r\nmultipart/form-data"))
        << first;
  }
}
