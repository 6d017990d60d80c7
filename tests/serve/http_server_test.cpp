// The server with routes that know nothing of models.

#include "serve/http_server.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <future>
#include <semaphore>
#include <thread>

#include "parsnets/error.hpp"
#include "serve/raw_client.hpp"

namespace {

using namespace parsnets::test;
using namespace parsnets;
using namespace std::chrono_literals;

struct TestServer {
  Metrics metrics;
  std::counting_semaphore<> entered{0}, leave{0};
  HttpServer server;

  explicit TestServer(HttpServerOptions options = {}) : server((options.port = 0, options), routes(), metrics) {
    server.start();
  }
  std::vector<Route> routes() {
    const auto text = [](std::string body) { return HttpResponse{200, "text/plain", std::move(body)}; };
    const auto name = [=](const HttpRequest& r) {
      return text(r.captured[0] + (r.query.contains("x") ? r.query.at("x") : ""));
    };
    const auto slow = [=, this](const HttpRequest&) {
      entered.release();
      leave.acquire();
      return text("done");
    };
    return {{"GET", "/", [=](const HttpRequest&) { return text("<p>"); }, true, true},
            {"GET", "/things/*/name", name, false, false, {"x", "y"}},
            {"GET", "/large", [=](const HttpRequest&) { return text(std::string(32 << 20, 'x')); }},
            {"GET", "/slow", slow},
            {"GET", "/breaks", [](const HttpRequest&) -> HttpResponse { throw std::logic_error("a secret"); }},
            {"POST", "/echo", [=](const HttpRequest& r) { return text(r.type + "|" + r.body); }}};
  }
  int port() const { return server.port(); }
  std::string get(const std::string& target, const std::string& more = "") {
    return request_text(port(), "GET", target, "", "", more);
  }
  std::string post(const std::string& body, const std::string& type = "a/b", const std::string& more = "") {
    return request_text(port(), "POST", "/echo", type, body, more);
  }
  RawResponse ask(const std::string& text) { return parsnets::test::ask(port(), text); }
};

struct RunningServer : testing::Test {
  TestServer server;
};

}  // namespace

TEST_F(RunningServer, AnswersSeveralRequestsOfAConnectionInTheirOrder) {
  RawClient client(server.port());
  client.send(server.get("/things/a%20b/name?x=1%202") + server.post("body", "A/B; c=d"));
  EXPECT_EQ(client.receive().body, "a%20b1 2");
  EXPECT_EQ(client.receive().body, "a/b|body");
  client.send(server.get("/", "Connection: close\r\n"));
  EXPECT_EQ(client.receive().headers["connection"], "close");
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(server.ask(server.post("x", "a/b", "Expect: 100-Continue\r\n")).body, "a/b|x") << "whatever its case";
}

TEST_F(RunningServer, HeadHasTheHeadersOfGetAndNoBody) {
  RawClient client(server.port());
  client.send(request_text(server.port(), "HEAD", "/"));
  const auto head = client.receive(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "3");
  client.send(server.get("/"));
  EXPECT_EQ(client.receive().body, "<p>");
}

TEST_F(RunningServer, ErrorsOfHeadHaveNoBody) {
  for (const char* head : {"HEAD /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", "HEAD / HTTP/1.1\r\nbad\r\n\r\n",
                           "HEAD /breaks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"}) {
    RawClient client(server.port());
    client.send(head);
    EXPECT_GE(client.receive(true).status, 400) << head;
    EXPECT_TRUE(client.closed()) << head;
  }
}

TEST_F(RunningServer, EveryResponseHasSecurityHeaders) {
  for (const char* target : {"/", "/nothing", "/breaks"}) {
    auto response = server.ask(server.get(target));
    EXPECT_EQ(response.headers["x-content-type-options"], "nosniff") << target;
    EXPECT_NE(response.headers["content-security-policy"].find("default-src 'none'"), std::string::npos) << target;
    EXPECT_NE(response.headers["content-security-policy"].find("frame-ancestors 'none'"), std::string::npos) << target;
    EXPECT_EQ(response.headers["cross-origin-resource-policy"], "same-origin") << target;
  }
}

TEST_F(RunningServer, PathsAndMethodsThatThereAreNotAreErrors) {
  EXPECT_EQ(server.ask(server.get("/nothing")).problem(), "Not Found");
  const auto wrong = server.ask(request_text(server.port(), "DELETE", "/echo"));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.at("allow"), "POST");
}

TEST_F(RunningServer, ParametersThatARouteDoesNotHaveAreErrors) {
  const auto status = [&](const std::string& target) { return server.ask(server.get(target)).status; };
  for (const char* good : {"/?", "/?&", "/things/a/name?x=1", "/things/a/name?y=&x=1", "/things/a/name"})
    EXPECT_EQ(status(good), 200) << good;
  for (const char* bad : {"/?a", "/?=1", "/?%00=1", "/things/a/name?X=1", "/things/a/name?x=1&x=2",
                          "/things/a/name?x=1&z=2", "/things/a/name?x=1;y=2&z", "/things/a/name?x%20=1"})
    EXPECT_EQ(status(bad), 400) << bad;
  const auto error = server.ask(server.get("/things/a/name?x=1&other%21=2")).json();
  EXPECT_EQ(error["title"], "Bad Request");
  EXPECT_EQ(error["type"], "about:blank");
  EXPECT_EQ(error["field"], "other!");
  EXPECT_EQ(error["expected"], "x, y");
  EXPECT_NE(error["detail"].get<std::string>().find("'other!'; this path has: x, y"), std::string::npos);
  EXPECT_EQ(server.ask(server.get("/?a=b")).json()["expected"], "none");
  EXPECT_EQ(server.ask(request_text(server.port(), "HEAD", "/?a=b")).status, 400);
}

TEST_F(RunningServer, AFailingRouteTellsNoDetails) {
  const auto response = server.ask(server.get("/breaks"));
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.problem(), "Internal Server Error");
  EXPECT_EQ(response.body.find("secret"), std::string::npos);
}

TEST(HttpServer, AnyLoopbackAddressCanBeAskedByItsName) {
  TestServer server({.host = "127.0.0.2"});
  const auto host = [&](const std::string& name) {
    return ask(server.port(), "GET / HTTP/1.1\r\nHost: " + name + "\r\n\r\n", "127.0.0.1", "127.0.0.2").status;
  };
  for (const char* name : {"127.0.0.2:8080", "127.0.0.1", "localhost:8080", "[::1]"})
    EXPECT_EQ(host(name), 200) << name;
  EXPECT_EQ(host("127.0.0.3"), 403);
}

TEST(HttpServer, TheTokenGuardsAllButOpenRoutes) {
  TestServer server({.token = "0123456789abcdef"});
  EXPECT_EQ(server.ask(server.get("/")).status, 200);
  const auto response = server.ask(server.get("/things/a/name?x=1"));
  EXPECT_EQ(response.problem(), "Unauthorized");
  EXPECT_EQ(response.headers.at("www-authenticate"), "Bearer");
  EXPECT_EQ(server.ask(server.get("/things/a/name?x=1", "Authorization: BEARER 0123456789abcdef\r\n")).body, "a1");
}

TEST(HttpServer, AClientThatSendsBeforeItReadsSeesThatItsBodyIsTooLarge) {
  TestServer server({.request = 1h, .drain = 1h, .body_bytes = 16 << 20});
  RawClient client(server.port());
  EXPECT_TRUE(client.send(server.post(std::string(30 << 20, 'x'))));
  EXPECT_EQ(client.receive().problem(), "Content Too Large");
}

TEST_F(RunningServer, ChunksAreRefusedAndNothingAfterThemIsARequest) {
  RawClient client(server.port());
  client.send("POST /echo HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
              "\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcXX\r\n" + server.get("/") + "0\r\n\r\n");
  const auto refused = client.receive();
  EXPECT_EQ(refused.problem(), "Length Required");
  EXPECT_NE(refused.body.find("Content-Length"), std::string::npos);
  EXPECT_TRUE(client.closed());
}

TEST_F(RunningServer, MultipartBodiesAreReadByNobodyBeforeTheRoute) {
  for (const char* type :
       {"multipart/form-data; boundary=b", "multipart/form-data", "application/x-www-form-urlencoded"})
    EXPECT_EQ(server.ask(server.post("--b\r\nbroken&x=y", type)).body,
              std::string(type).substr(0, std::string(type).find(';')) + "|--b\r\nbroken&x=y");
}

TEST(HttpServer, SlowHeadsAndBodiesEndInTime) {
  TestServer server({.request = 300ms});
  RawClient head(server.port()), body(server.port());
  head.send("GET / HTTP/1.1\r\nHost: ");
  body.send("POST /echo HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
            "\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(head.receive().problem(), "Request Timeout");
  EXPECT_EQ(body.receive().problem(), "Request Timeout");
  EXPECT_TRUE(head.closed());
  EXPECT_TRUE(body.closed());
  TestServer patient({.head = 100ms, .request = 1h});
  RawClient early(patient.port());
  early.send("GET / HTTP/1.1\r\nHost: ");
  EXPECT_EQ(early.receive().problem(), "Request Timeout") << "a head has less time than a request";
}

TEST(HttpServer, UnfinishedHeadsShutNobodyOut) {
  for (const std::size_t connections : {std::size_t{4}, std::size_t{64}}) {
    TestServer server({.connections = connections, .head = 1h, .request = 1h, .idle = 1h});
    std::deque<RawClient> clients;
    for (int i = 0; i < 70; ++i) clients.emplace_back(server.port()).send("GET / HT");
    for (const char* from : {"127.0.0.1", "127.0.0.9"}) {
      int status = 503;  // until the threads have begun to read the heads
      for (int i = 0; i < 10000 && status == 503; ++i) status = ask(server.port(), server.get("/"), from).status;
      EXPECT_EQ(status, 200) << connections << " connections, " << from;
    }
  }
}

TEST(HttpServer, WhoHasJustComeIsNotReplacedByTheNext) {
  TestServer server({.connections = 3, .head = 1h, .request = 1h, .idle = 1h});
  RawClient slow(server.port()), slower(server.port());
  for (RawClient* client : {&slow, &slower}) client->send("GET / HT");
  EXPECT_EQ(server.ask(server.get("/")).status, 200);  // the loop has read the pieces before
  RawClient fresh(server.port());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask(server.port(), server.get("/"), "127.0.0.9").status, 200);
  fresh.send(server.get("/"));
  EXPECT_EQ(fresh.receive().status, 200);
  EXPECT_TRUE(slow.closed());
}

/// The status of a request once there is room for it.
int status_in_time(TestServer& server) {
  int status = 503;
  for (int i = 0; i < 10000 && (status == 503 || status == 0); ++i)
    status = ask(server.port(), server.get("/"), "127.0.0.9").status;
  return status;
}

TEST(HttpServer, ReadersThatDoNotReadShutNobodyOut) {
  TestServer server({.connections = 4, .request = 1h, .idle = 1h});
  std::deque<RawClient> clients;
  for (int i = 0; i < 20; ++i)
    clients.emplace_back(server.port(), 4096, i % 2 == 0 ? "127.0.0.1" : "127.0.0.2").send(server.get("/large"));
  EXPECT_EQ(status_in_time(server), 200);
}

TEST(HttpServer, RefusedClientsThatDoNotHangUpShutNobodyOut) {
  TestServer server({.connections = 4, .request = 1h, .idle = 1h, .drain = 1h});
  std::deque<RawClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.emplace_back(server.port(), 0, i % 2 == 0 ? "127.0.0.1" : "127.0.0.2").send("nonsense\r\n\r\n");
    EXPECT_EQ(status_in_time(server), 200) << i;
  }
}

TEST(HttpServer, WhoIsReplacedWhileItsAnswerIsSentIsGone) {
  TestServer server({.connections = 2});
  std::vector<std::thread> attackers;
  for (int t = 0; t < 4; ++t)
    attackers.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        RawClient client(server.port());
        client.send(t % 2 == 0 ? server.get("/") : "nonsense\r\n\r\n");
      }
    });
  for (auto& thread : attackers) thread.join();
  EXPECT_EQ(status_in_time(server), 200);
}

TEST(HttpServer, OneAddressTakesHalfOfTheConnections) {
  TestServer server({.connections = 40});
  std::deque<RawClient> clients;
  const auto slow = [&](const char* from) {
    clients.emplace_back(server.port(), 0, from).send(server.get("/slow"));
    server.entered.acquire();
  };
  for (int i = 0; i < 20; ++i) slow("127.0.0.1");
  EXPECT_EQ(server.ask(server.get("/")).status, 503);
  for (int i = 0; i < 20; ++i) slow("127.0.0.9");
  EXPECT_EQ(ask(server.port(), server.get("/"), "127.0.0.5").status, 503) << "all are taken";
  EXPECT_NE(server.metrics.text().find("parsnets_refused_total{reason=\"connections\"} 2"), std::string::npos);
  server.leave.release(40);
  for (auto& client : clients) EXPECT_EQ(client.receive().status, 200);
}

TEST(HttpServer, AReaderThatDoesNotReadIsLeft) {
  TestServer server({.connections = 1, .request = 300ms});
  RawClient lazy(server.port(), 4096);
  lazy.send(server.get("/large"));
  // The only connection is free again although the response was never read.
  int status = 503;
  while (status == 503 || status == 0) status = server.ask(server.get("/")).status;
  EXPECT_EQ(status, 200);
}

/// Threads of this process.
std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

TEST(HttpServer, WhoIsRefusedIsToldSoAndCostsNoThread) {
  TestServer server({.connections = 1, .drain = 1h});
  RawClient busy(server.port());
  busy.send(server.get("/slow"));
  server.entered.acquire();
  const auto before = threads();
  std::deque<RawClient> clients;
  for (int i = 0; i < 200; ++i) {  // more than are waited for at a time
    const auto response = clients.emplace_back(server.port()).receive();
    EXPECT_EQ(response.problem(), "Service Unavailable");
    EXPECT_EQ(response.headers.at("retry-after"), "1");
    EXPECT_TRUE(clients.back().closed());
  }
  EXPECT_EQ(threads(), before);
  EXPECT_NE(server.metrics.text().find("parsnets_refused_total{reason=\"connections\"} 200\n"), std::string::npos);
  EXPECT_NE(server.metrics.text().find("parsnets_connections 1\n"), std::string::npos);
  server.leave.release();
  EXPECT_EQ(busy.receive().status, 200);
}

TEST(HttpServer, ABusyConnectionIsNotReplacedAndAnIdleOneIs) {
  TestServer server({.connections = 2, .request = 1h, .idle = 1h});
  RawClient busy(server.port());
  busy.send(server.get("/slow"));
  server.entered.acquire();
  RawClient idle(server.port());
  idle.send(server.get("/"));
  EXPECT_EQ(idle.receive().status, 200);
  RawClient third(server.port());
  third.send(server.get("/slow"));
  server.entered.acquire();
  EXPECT_TRUE(idle.closed());
  EXPECT_EQ(server.ask(server.get("/")).status, 503);
  server.leave.release(2);
  EXPECT_EQ(busy.receive().body, "done");
  EXPECT_EQ(third.receive().body, "done");
}

TEST(HttpServer, WhoWasRefusedMakesRoomBeforeWhoIsIdle) {
  TestServer server({.connections = 2, .request = 1h, .idle = 1h, .drain = 1h});
  RawClient idle(server.port()), refused(server.port());
  idle.send(server.get("/"));
  EXPECT_EQ(idle.receive().status, 200);
  refused.send("nonsense\r\n\r\n");
  EXPECT_EQ(refused.receive().status, 400);
  EXPECT_TRUE(refused.closed());  // for its part; the server waits until it hangs up
  RawClient next(server.port());
  next.send(server.get("/slow"));
  server.entered.acquire();
  idle.send(server.get("/"));
  EXPECT_EQ(idle.receive().status, 200);
  server.leave.release();
  EXPECT_EQ(next.receive().body, "done");
}

TEST(HttpServer, AnAddressReplacesItsOwnIdleConnection) {
  TestServer server({.connections = 32, .request = 1h, .idle = 1h});
  RawClient other(server.port(), 0, "127.0.0.9"), idle(server.port());
  for (RawClient* client : {&other, &idle}) {  // that of the other address waits longest
    client->send(server.get("/"));
    EXPECT_EQ(client->receive().status, 200);
  }
  std::deque<RawClient> clients;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back(server.port()).send(server.get("/slow"));
    server.entered.acquire();
  }
  EXPECT_TRUE(idle.closed());
  other.send(server.get("/"));
  EXPECT_EQ(other.receive().status, 200);
  server.leave.release(16);
  for (auto& client : clients) EXPECT_EQ(client.receive().status, 200);
}

TEST_F(RunningServer, ARequestArrivesWholeWhereverItsPiecesEnd) {
  const std::string text = server.post("--b\r\nwhat only the route reads\r\n\r\n1\r\n--b--\r\n", "multipart/x");
  RawClient client(server.port()), other(server.port());
  for (std::size_t first = 1; first < text.size(); first += 3) {
    client.send(text.substr(0, first));
    other.send(server.get("/"));  // the loop reads in the order in which pieces came
    EXPECT_EQ(other.receive().status, 200);
    client.send(text.substr(first));
    EXPECT_EQ(client.receive().body, "multipart/x|" + text.substr(text.find("--b"))) << first;
  }
}

TEST(HttpServer, WithoutMemoryItRefusesAndGoesOn) {
#ifdef PARSNETS_SANITIZED
  GTEST_SKIP() << "sanitizers need more address space";
#endif
  TestServer server({.connections = 100, .request = 1h, .idle = 1h});
  EXPECT_EQ(server.ask(server.get("/")).status, 200);
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  std::deque<RawClient> clients;
  for (int i = 0; i < 40; ++i) clients.emplace_back(server.port(), 4096);
  const rlimit little{pages * static_cast<std::size_t>(::getpagesize()) + (256u << 20), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &little), 0);
  int without_memory = 0;
  for (auto& client : clients) {  // nobody reads the 32 MB that come
    char head[13] = "";
    client.send(server.get("/large"));
    ASSERT_EQ(::recv(client.socket(), head, 12, MSG_WAITALL), 12);
    without_memory += std::string_view(head) == "HTTP/1.1 503";
  }
  EXPECT_EQ(server.ask(server.get("/")).status, 200) << "small requests go on";
  ::setrlimit(RLIMIT_AS, &before);
  EXPECT_GT(without_memory, 10);
  EXPECT_LT(without_memory, 40);
  clients.clear();
  EXPECT_EQ(server.ask(server.get("/large")).body.size(), 32u << 20);
}

TEST(HttpServer, AddressesOfTheOlderInternetHaveBucketsOfTheirOwn) {
  std::unique_ptr<TestServer> server;
  try {
    server = std::make_unique<TestServer>(HttpServerOptions{.host = "::", .allow_remote = true, .rate = 1e-3});
  } catch (const Error&) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  for (const char* from : {"127.0.0.5", "127.0.0.6"})
    for (const int status : {200, 429}) EXPECT_EQ(ask(server->port(), server->get("/"), from).status, status) << from;
}

TEST(HttpServer, AddressesThatAskTooOftenAreToldSo) {
  TestServer server({.rate = 1e-3});
  EXPECT_EQ(server.ask(server.get("/")).status, 200);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(server.ask(server.get("/")).status, 429);
  EXPECT_NE(server.metrics.text().find("parsnets_refused_total{reason=\"rate\"} 5\n"), std::string::npos);
}

TEST_F(RunningServer, StoppingFinishesWhatRuns) {
  RawClient idle(server.port()), running(server.port());
  idle.send(server.get("/"));
  idle.receive();
  running.send(server.get("/slow"));
  server.entered.acquire();
  auto stopped = std::async(std::launch::async, [&] { server.server.stop(); });
  EXPECT_TRUE(idle.closed()) << "nobody waits for a connection without a request";
  server.leave.release();
  EXPECT_EQ(running.receive().body, "done");
  stopped.get();
  EXPECT_FALSE(RawClient(server.port()).connected());
}

TEST(HttpServer, WhenItStopsNobodyWaitsForTheRestOfAHead) {
  TestServer server({.head = 1h, .request = 1h});
  RawClient unfinished(server.port());
  unfinished.send("GET / ");
  EXPECT_EQ(server.ask(server.get("/")).status, 200);  // the loop has read the piece before
  server.server.stop();
  EXPECT_TRUE(unfinished.closed());
}

TEST_F(RunningServer, APortThatIsTakenIsAUsageError) {
  Metrics metrics;
  EXPECT_THROW(HttpServer({.port = server.port()}, {}, metrics), Error);
}
