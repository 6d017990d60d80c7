#include "serve/worker_threads.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>

namespace {

using namespace parsnets;
using namespace std::chrono_literals;

/// Serves each connection one byte at a time, and sends it back; 'b' keeps it busy until `leave`, and 'h' is the part
/// of a head of which no more comes.
struct Echo {
  Metrics metrics;
  std::counting_semaphore<> entered{0}, leave{0};
  std::atomic<int> served{0};
  WorkerThreads workers;

  explicit Echo(std::size_t most, std::size_t most_of_address = 100)
      : workers(
            most, most_of_address, [this](OpenConnection& open) { serve(open); }, metrics) {}
  void serve(OpenConnection& open) {
    Connection connection(open.socket, -1, [&](Wait wait) { workers.waits(open, wait); });
    char byte = 0;
    ASSERT_EQ(::fcntl(open.socket, F_SETFL, O_NONBLOCK), 0);
    while (connection.wait_for_request(1h) && !open.replaced) {
      if (::recv(open.socket, &byte, 1, MSG_PEEK) == 1 && byte == 'h') {
        entered.release();
        EXPECT_EQ(connection.read_head(100), "");
        EXPECT_TRUE(open.replaced);
        break;
      }
      if (connection.read(&byte, 1) != 1) break;
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

TEST(WorkerThreads, AnUnfinishedHeadIsReplaced) {
  Echo echo(1);
  Client first, second, busy, refused;
  for (const Client* client : {&first, &second}) {
    while (!echo.workers.take(client->server_end(), "")) {  // until the thread of the first waits for the rest
    }
    client->send('h');
    echo.entered.acquire();
  }
  EXPECT_EQ(first.receive(), '\0');
  while (!echo.workers.take(busy.server_end(), "")) {
  }
  busy.send('b');
  echo.entered.acquire();
  EXPECT_EQ(second.receive(), '\0');
  EXPECT_FALSE(echo.workers.take(refused.server_end(), ""));
  ::close(refused.server_end());
  echo.leave.release();
  EXPECT_EQ(busy.receive(), 'b');
  busy.hang_up();
  echo.workers.stop();
  EXPECT_EQ(echo.served, 3);
}

TEST(WorkerThreads, AnAddressHasNoMoreThanItsShare) {
  Echo echo(4, 2);
  Client one, two, three, other;
  for (const Client* client : {&one, &two}) {
    ASSERT_TRUE(echo.workers.take(client->server_end(), "a"));
    client->send('b');
    echo.entered.acquire();
  }
  EXPECT_FALSE(echo.workers.take(three.server_end(), "a"));
  ASSERT_TRUE(echo.workers.take(other.server_end(), "b"));
  EXPECT_EQ(other.ask('x'), 'x');
  echo.leave.release();
  // The one that is idle now makes room for another of its address, and that of the other address stays.
  while (!echo.workers.take(three.server_end(), "a")) {
  }
  EXPECT_EQ(three.ask('y'), 'y');
  EXPECT_EQ(other.ask('z'), 'z');
  echo.leave.release();
  for (Client* client : {&one, &two, &three, &other}) client->hang_up();
  echo.workers.stop();
  EXPECT_EQ(echo.served, 4);
}
