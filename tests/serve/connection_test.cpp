#include "serve/connection.hpp"

#include <gtest/gtest.h>

namespace {

using namespace parsnets;
using namespace std::chrono_literals;

struct Pair {
  int ends[2]{-1, -1};
  Pair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0); }
  ~Pair() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void send(std::string_view bytes) const {
    EXPECT_EQ(::send(ends[1], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
};

}  // namespace

TEST(Connection, TheDeadlineHoldsWhileBytesKeepComing) {
  const Pair pair;
  Connection connection(pair.ends[0], -1);
  char bytes[3];
  pair.send("abc");
  connection.set_deadline(Clock::now() + 1h);
  EXPECT_EQ(connection.read(bytes, 3), 3);
  pair.send("abc");
  connection.set_deadline(Clock::now());
  EXPECT_EQ(connection.read(bytes, 3), -1);
  EXPECT_TRUE(connection.timed_out());
}

TEST(Connection, APartOfAHeadIsToldOnce) {
  const Pair pair;
  Connection connection(pair.ends[0], -1);
  connection.set_deadline(Clock::now() + 1h);
  int told = 0;
  pair.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(connection.read_head(1000, [&] { ++told; }), "GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(told, 0);
  pair.send("GET / ");
  const auto more = [&] {
    ++told;
    pair.send("HTTP/1.1\r\n\r\n");
  };
  EXPECT_EQ(connection.read_head(1000, more), "GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(told, 1);
}

TEST(Connection, WhenTheServerStopsNobodyWaitsForTheRestOfAHead) {
  const Pair pair, stop;
  Connection connection(pair.ends[0], stop.ends[0]);
  connection.set_deadline(Clock::now() + 1h);
  pair.send("GET / ");
  EXPECT_EQ(connection.read_head(1000, [&] { stop.send("x"); }), "");
  EXPECT_FALSE(connection.timed_out());
}

TEST(Connection, AHeadThatKeepsComingEndsInTime) {
  const Pair pair;
  Connection connection(pair.ends[0], -1);
  pair.send("GET / HTTP/1.1\r\n");
  connection.set_deadline(Clock::now());
  try {
    connection.read_head(1000);
    FAIL();
  } catch (const HttpError& e) {
    EXPECT_EQ(e.status(), 408);
  }
}
