#include "serve/worker_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>

namespace {

using namespace parsnets;
using namespace std::chrono_literals;

/// Serves each connection one byte at a time, and sends it back; 'b' keeps it busy until `leave`.
struct Echo {
  Metrics metrics;
  std::counting_semaphore<> entered{0}, leave{0};
  std::atomic<int> served{0};
  WorkerThreads workers;

  explicit Echo(std::size_t most)
      : workers(
            most, [this](OpenConnection& open) { serve(open); }, metrics) {}
  void serve(OpenConnection& open) {
    Connection connection(open.socket, -1);
    char byte = 0;
    while (workers.wait_for_request(open, connection, 1h) && connection.read(&byte, 1) == 1) {
      if (byte == 'b') {
        entered.release();
        leave.acquire();
      }
      connection.write(&byte, 1);
      connection.flush();
    }
    ::close(open.socket);
    ++served;
  }
};

/// The other end of a connection.
struct Client {
  int ends[2]{-1, -1};
  Client() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0); }
  ~Client() { hang_up(); }
  void hang_up() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
  int server_end() const { return ends[0]; }
  void send(char byte) const { EXPECT_EQ(::send(ends[1], &byte, 1, MSG_NOSIGNAL), 1); }
  /// 0: the other side has closed.
  char receive() const {
    char byte = 0;
    return ::recv(ends[1], &byte, 1, 0) == 1 ? byte : '\0';
  }
  char ask(char byte) const {
    send(byte);
    return receive();
  }
};

}  // namespace

TEST(WorkerThreads, ABusyConnectionIsNotReplacedAndAnIdleOneIs) {
  Echo echo(2);
  Client busy, idle, third;
  ASSERT_TRUE(echo.workers.take(busy.server_end(), ""));
  ASSERT_TRUE(echo.workers.take(idle.server_end(), ""));
  busy.send('b');
  echo.entered.acquire();
  EXPECT_EQ(idle.ask('x'), 'x');
  while (!echo.workers.take(third.server_end(), "")) {  // until the thread of the idle one waits
  }
  EXPECT_EQ(idle.receive(), '\0');
  EXPECT_EQ(third.ask('y'), 'y');
  third.send('b');
  echo.entered.acquire();
  Client fourth;
  EXPECT_FALSE(echo.workers.take(fourth.server_end(), ""));
  EXPECT_NE(echo.metrics.text().find("parsnets_connections 2\n"), std::string::npos);
  echo.leave.release(2);
  EXPECT_EQ(busy.receive(), 'b');
  EXPECT_EQ(third.receive(), 'b');
  ::close(fourth.server_end());
  busy.hang_up();
  third.hang_up();
  echo.workers.stop();
  EXPECT_EQ(echo.served, 3);
  EXPECT_NE(echo.metrics.text().find("parsnets_connections 0\n"), std::string::npos);
}

TEST(WorkerThreads, OneAfterTheOtherIsServedByTheSameThreads) {
  Echo echo(1);
  for (int i = 0; i < 20; ++i) {
    Client client;
    while (!echo.workers.take(client.server_end(), "")) {  // until the last one has ended
    }
    EXPECT_EQ(client.ask('a'), 'a');
  }
  echo.workers.stop();
  EXPECT_EQ(echo.served, 20);
}
