#include "serve/request_checks.hpp"

#include <gtest/gtest.h>

#include "serve/http.hpp"

namespace {

using namespace parsnets;
using namespace std::chrono_literals;

struct Checked {
  Metrics metrics;
  RequestChecks checks;

  explicit Checked(RequestRules rules = {})
      : checks(std::move(rules),
               {{"GET", "/open", [](const HttpRequest&) { return HttpResponse{}; }, true},
                {"GET", "/closed", [](const HttpRequest&) { return HttpResponse{}; }},
                {"POST", "/post", [](const HttpRequest&) { return HttpResponse{}; }}},
               metrics) {}

  /// 200: nothing is wrong with the request.
  int status(const std::string& line, const std::string& headers = "Host: a\r\n") {
    found = {};
    try {
      checks.check(parse_request_head(line + " HTTP/1.1\r\n" + headers + "\r\n"), "abcd", found);
      return 200;
    } catch (const HttpError& e) {
      said = e.what();
      return e.status();
    }
  }
  bool counted(const std::string& reason) const {
    return metrics.text().find("parsnets_refused_total{reason=\"" + reason + "\"} 1\n") != std::string::npos;
  }

  FoundRoute found;
  std::string said;  ///< the latest error
};

int allowed(RateLimiter& limiter, const std::string& client, Clock::time_point now, int asked) {
  int count = 0;
  for (int i = 0; i < asked; ++i) count += limiter.allows(client, now);
  return count;
}

int status_of(const std::string& text) {
  try {
    parse_request_head(text);
    return 200;
  } catch (const HttpError& e) {
    return e.status();
  }
}

}  // namespace

TEST(RequestChecks, TheRouteIsKnownAlsoOfARequestThatIsRefused) {
  Checked checked;
  EXPECT_EQ(checked.status("POST /post?a=b", "Host: a\r\nContent-Length: 1\r\n"), 200);
  ASSERT_NE(checked.found.route, nullptr);
  EXPECT_EQ(checked.found.route->path, "/post");
  EXPECT_EQ(checked.status("POST /post"), 411);
  ASSERT_NE(checked.found.route, nullptr);
  EXPECT_EQ(checked.found.route->path, "/post");
  EXPECT_EQ(checked.status("GET /post"), 405);
  EXPECT_EQ(checked.found.allowed, "POST");
  EXPECT_EQ(checked.status("GET /other"), 404);
  EXPECT_EQ(checked.found.route, nullptr);
}

TEST(RequestChecks, HostsThatAreNotNamedAreForbidden) {
  Checked checked({.hosts = {"localhost", "127.0.0.1", "[::1]"}});
  const auto host = [&](const std::string& name) { return checked.status("GET /open", "Host: " + name + "\r\n"); };
  for (const char* name : {"localhost", "LocalHost:80", "localhost:9", "[::1]", "[::1]:80", "127.0.0.1:"})
    EXPECT_EQ(host(name), 200) << name;
  EXPECT_FALSE(checked.counted("host"));
  EXPECT_EQ(host("localhost.evil.example"), 403);
  EXPECT_TRUE(checked.counted("host"));
  for (const char* name :
       {"evil.example", "127.0.0.1.evil.example:80", "evil.example:80@localhost:80", "localhost:x:80", ""})
    EXPECT_EQ(host(name), 403) << name;
  EXPECT_EQ(checked.status("GET /open", ""), 400);
  EXPECT_EQ(checked.status("GET /open", "Host: localhost\r\nHost: localhost\r\n"), 400);
  EXPECT_EQ(Checked().status("GET /open", "Host: anything\r\n"), 200);
}

TEST(RequestChecks, WithoutTheTokenNoPathIsToldButTheOpenOnes) {
  Checked checked({.token = "secret"});
  EXPECT_EQ(checked.status("GET /open"), 200);
  EXPECT_EQ(checked.status("GET /closed"), 401);
  EXPECT_TRUE(checked.counted("token"));
  for (const char* line : {"GET /other", "GET /post", "POST /open"}) EXPECT_EQ(checked.status(line), 401) << line;
  EXPECT_EQ(checked.status("GET /closed", "Host: a\r\nAuthorization: Bearer secreT\r\n"), 401);
  EXPECT_EQ(checked.status("GET /closed", "Host: a\r\nAuthorization: bearer secret\r\n"), 200);
}

TEST(RequestChecks, AMissingTokenAndAWrongOneAreToldApart) {
  Checked checked({.token = "secret"});
  for (const auto& [given, said] : std::vector<std::pair<std::string, std::string>>{
           {"", "this server needs a token"},
           {"Authorization: Basic secret\r\n", "this server needs a token"},
           {"Authorization: Bearer \r\n", "this server needs a token"},
           {"Authorization: Bearer other\r\n", "the token is wrong"},
           {"Authorization: Bearer secrets\r\n", "the token is wrong"}}) {
    EXPECT_EQ(checked.status("GET /closed", "Host: a\r\n" + given), 401) << given;
    EXPECT_TRUE(checked.said.starts_with(said)) << checked.said;
  }
}

TEST(RequestChecks, PagesOfOtherSitesGetThePageAlone) {
  Checked checked;
  for (const char* foreign : {"Origin: http://evil\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n",
                              "Sec-Fetch-Site: same-site\r\n", "Origin: http://a\r\nSec-Fetch-Site: cross-site\r\n"}) {
    const std::string headers = std::string("Host: a\r\n") + foreign;
    for (const char* line : {"GET /closed", "HEAD /closed", "POST /post", "GET /other"})
      EXPECT_EQ(checked.status(line, headers), 403) << line << " " << foreign;
    EXPECT_EQ(checked.status("GET /open", headers), 200) << "a link may lead there";
  }
  for (const char* own : {"Origin: http://a\r\nSec-Fetch-Site: same-origin\r\n", "Sec-Fetch-Site: none\r\n"})
    EXPECT_EQ(checked.status("GET /closed", std::string("Host: a\r\n") + own), 200) << own;
}

TEST(RequestChecks, PagesOfOtherSitesCannotPost) {
  Checked checked;
  const auto from = [&](const std::string& origin) {
    return checked.status("POST /post", "Host: a:1\r\nContent-Length: 0\r\nOrigin: " + origin + "\r\n");
  };
  EXPECT_EQ(from("HTTP://A:1"), 200);
  EXPECT_EQ(from("https://a:1"), 200);
  EXPECT_FALSE(checked.counted("origin"));
  EXPECT_EQ(from("http://a"), 403);
  EXPECT_TRUE(checked.counted("origin"));
  for (const char* other : {"null", "http://evil.example", "http://localhost:1"}) EXPECT_EQ(from(other), 403) << other;
}

TEST(RequestChecks, BodiesThatWillNotBeReadAreRefusedByTheirHead) {
  Checked checked({.body_bytes = 10});
  const auto post = [&](const std::string& headers) { return checked.status("POST /post", "Host: a\r\n" + headers); };
  EXPECT_EQ(post("Content-Length: 10\r\nContent-Encoding: identity\r\nExpect: 100-CONTINUE\r\n"), 200);
  EXPECT_EQ(post("Content-Length: 11\r\n"), 413);
  EXPECT_EQ(post("Content-Length: 1\r\nContent-Encoding: gzip\r\n"), 415);
  EXPECT_EQ(post("Content-Length: 1\r\nExpect: more\r\n"), 417);
  EXPECT_EQ(checked.status("GET /open", "Host: a\r\nContent-Length: 1\r\n"), 400);
}

TEST(RateLimiter, GivesEachClientItsRate) {
  RateLimiter limiter(10);
  const auto start = Clock::time_point() + 1h;
  EXPECT_EQ(allowed(limiter, "a", start, 100), 20);
  EXPECT_EQ(allowed(limiter, "b", start, 100), 20);
  EXPECT_EQ(allowed(limiter, "a", start + 1s, 100), 10);
  EXPECT_EQ(allowed(limiter, "a", start + 1h, 100), 20) << "no more than the bucket holds";
  RateLimiter unlimited(0);
  EXPECT_EQ(allowed(unlimited, "a", {}, 10000), 10000);
}

TEST(RateLimiter, RemembersABoundedNumberOfClients) {
  RateLimiter limiter(1, 100);
  const auto start = Clock::time_point() + 1h;
  for (int i = 0; i < 100000; ++i) limiter.allows(std::to_string(i), start);
  EXPECT_LE(limiter.clients(), 101u);
  EXPECT_FALSE(limiter.allows("another", start)) << "those who are not remembered share one bucket";
  EXPECT_TRUE(limiter.allows("another", start + 10s));
  EXPECT_LE(limiter.clients(), 2u) << "full buckets are forgotten";
}

TEST(RequestHead, NoHeadAtAllIsRefused) { EXPECT_THROW(parse_request_head(""), HttpError); }

TEST(RequestHead, ReadsLineHeadersAndLength) {
  const auto head = parse_request_head(
      "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-LENGTH:\t12 \r\nConnection: Keep-Alive, Close\r\n\r\n");
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/a?b");
  EXPECT_EQ(head.length, 12u);
  EXPECT_TRUE(head.closes());
  EXPECT_EQ(*head.find("host"), "x");
  EXPECT_EQ(head.find("cookie"), nullptr);
}

TEST(RequestHead, EndsWhereverItsPiecesEnd) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  std::size_t checked = 0;
  for (std::size_t length = 0; length < head.size(); ++length)
    EXPECT_EQ(end_of_head(std::string_view(head).substr(0, length), checked), 0u) << length;
  EXPECT_EQ(end_of_head(head + "more", checked), head.size());
  const auto status = [](const std::string& text) {
    std::size_t none = 0;
    try {
      end_of_head(text, none);
      return 200;
    } catch (const HttpError& e) {
      return e.status();
    }
  };
  EXPECT_EQ(status("GET / HTTP/1.1\r\nA: " + std::string(32 << 10, 'b')), 431);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nA:\tb\r"), 200);
  for (const char* bad : {"\n", "GET /\n", "GET /\r\r", "GET /\rH", "GET /\r\nA: \x01", "\x16\x03"})
    EXPECT_EQ(status(bad), 400) << bad;
}

TEST(RequestHead, AQueryIsDecodedOnce) {
  const Route route{"GET", "/", {}, false, false, {"a b", "c"}};
  using Query = std::map<std::string, std::string>;
  EXPECT_EQ(checked_query("/?a%20b=%2525+%26&&c#c=2", route), (Query{{"a b", "%25 &"}, {"c", ""}}));
  EXPECT_EQ(checked_query("/?c=%zz%4&a+b==", route), (Query{{"c", "%zz%4"}, {"a b", "="}})) << "no codes";
  EXPECT_EQ(checked_query("/", route), Query());
}

TEST(RequestHead, HasOneMeaningOrIsRefused) {
  const std::string start = "POST / HTTP/1.1\r\n";
  for (const char* ambiguous :
       {"Content-Length: 1\r\nContent-Length: 1\r\n", "Content-Length: 1,1\r\n", "Content-Length: -1\r\n",
        "Content-Length: 1 \x01\r\n", "Content-Length : 1\r\n", " Content-Length: 1\r\n", "Content-Length: 1\n"})
    EXPECT_EQ(status_of(start + ambiguous + "\r\n"), 400) << ambiguous;
  for (const char* coding : {"chunked", "CHUNKED", "gzip", "chunked, chunked", "identity", "\"chunked\"", ""})
    for (const char* length : {"", "Content-Length: 1\r\n"})
      EXPECT_EQ(status_of(start + length + "Transfer-Encoding: " + coding + "\r\n\r\n"), 411) << coding;
}

TEST(RequestHead, WhatNamesTheClientOrTheBodyIsThereOnce) {
  for (const std::string name : {"Host", "Origin", "Sec-Fetch-Site", "Authorization", "Content-Type", "Expect"}) {
    const std::string head = "POST / HTTP/1.1\r\n" + name + ": a\r\nAccept: b\r\n";
    EXPECT_EQ(parse_request_head(head + "\r\n").headers.size(), 2u);
    try {
      parse_request_head(head + name + ": c\r\n\r\n");
      ADD_FAILURE() << name;
    } catch (const HttpError& error) {
      EXPECT_EQ(error.status(), 400) << name;
    }
  }
  EXPECT_EQ(parse_request_head("GET / HTTP/1.1\r\nAccept: a\r\nAccept: b\r\n\r\n").headers.size(), 2u);
}

TEST(RequestHead, RequestLinesOfOtherFormsAreRefused) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 200);
  EXPECT_EQ(status_of("GET / HTTP/3.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET /" + std::string(8000, 'x') + " HTTP/1.1\r\n\r\n"), 414);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: " + std::string(8001, 'x') + "\r\n\r\n"), 431);
  for (const char* line : {"", "GET", "GET /", "/ HTTP/1.1", "GET  HTTP/1.1", "GET x HTTP/1.1", "GET /a b HTTP/1.1",
                           "G(T / HTTP/1.1", "GET / FTP/1.1"})
    EXPECT_EQ(status_of(std::string(line) + "\r\n\r\n"), 400) << line;
}
