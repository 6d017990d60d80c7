#include "serve/listener.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <thread>

#include "serve/raw_client.hpp"

namespace {

using namespace parsnets::test;
using namespace parsnets;

/// Accepts in a thread until it goes.
struct Accepting {
  const Listener listener{"127.0.0.1", 0, false};
  const int stop = ::eventfd(0, EFD_CLOEXEC);
  int refused = 0;
  std::thread thread;

  explicit Accepting(const std::function<bool(int, std::string)>& take)
      : thread([this, take] {
          accept_connections(listener.socket(), stop, std::chrono::hours(1), take, [this] { ++refused; });
        }) {}
  void finish() {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(stop, &one, sizeof one), 8);
    thread.join();
  }
  ~Accepting() {
    if (thread.joinable()) finish();
    ::close(stop);
  }
};

}  // namespace

TEST(Acceptor, HandsOverSocketsWithTheAddressOfTheClient) {
  Accepting accepting([](int socket, const std::string& address) {
    EXPECT_EQ(::send(socket, address.data(), address.size(), MSG_NOSIGNAL), 4);
    ::close(socket);
    return true;
  });
  for (const char last : {'\1', '\2'}) {
    const RawClient client(accepting.listener.port(), 0, last == '\1' ? "127.0.0.1" : "127.0.0.2");
    char address[5] = "";
    EXPECT_EQ(::recv(client.socket(), address, 5, MSG_WAITALL), 4);
    EXPECT_EQ(std::string(address, 4), std::string("\x7f\0\0", 3) + last);
  }
  accepting.finish();
  EXPECT_EQ(accepting.refused, 0);
}

TEST(Acceptor, ThoseThatAreNotTakenAreToldSo) {
  Accepting accepting([](int, const std::string&) { return false; });
  for (int i = 0; i < 200; ++i) {  // more than are waited for at a time
    RawClient client(accepting.listener.port());
    const auto response = client.receive();
    EXPECT_EQ(response.error_code(), "busy");
    EXPECT_EQ(response.headers.at("retry-after"), "1");
    EXPECT_TRUE(client.closed());
  }
  accepting.finish();
  EXPECT_EQ(accepting.refused, 200);
}

TEST(Acceptor, GoesOnAfterMemoryWasShort) {
  int calls = 0;
  Accepting accepting([&](int, const std::string&) -> bool {
    if (++calls == 1) throw std::bad_alloc();
    return false;
  });
  RawClient unlucky(accepting.listener.port());
  EXPECT_TRUE(unlucky.closed());
  EXPECT_EQ(RawClient(accepting.listener.port()).receive().status, 503);
}
