#include "serve/http.hpp"

#include <gtest/gtest.h>

namespace {

using namespace parsnets;

std::string value_of(const std::vector<std::pair<std::string, std::string>>& headers, const std::string& name) {
  std::string found;
  for (const auto& [key, value] : headers)
    if (key == name) found += value;
  return found;
}

std::vector<Route> some_routes() {
  const auto nothing = [](const HttpRequest&) { return HttpResponse{}; };
  return {{"GET", "/", nothing},
          {"GET", "/a/sheet", nothing},
          {"GET", "/a/*/b/*", nothing},
          {"POST", "/both", nothing},
          {"GET", "/both", nothing}};
}

}  // namespace

TEST(ResponseText, OnlyThePageMayLoadItsOwnParts) {
  const auto page = headers_of({}, true), data = headers_of({}, false);
  EXPECT_NE(value_of(page, "Content-Security-Policy").find("script-src 'self'"), std::string::npos);
  EXPECT_EQ(value_of(data, "Content-Security-Policy"), "default-src 'none'; frame-ancestors 'none'");
  EXPECT_EQ(value_of(page, "Cache-Control"), "no-cache");
  EXPECT_EQ(value_of(data, "Cache-Control"), "no-store");
  EXPECT_EQ(value_of(headers_of({200, "a/b", "", {{"X", "y"}}}, false), "X"), "y");
}

TEST(ResponseText, AHeadTellsWhatFollowsAndWhetherTheConnectionStays) {
  const HttpResponse response{405, "text/plain", "body", {{"Allow", "GET"}}};
  const std::string last = response_head(response, false, true), next = response_head(response, false, false);
  EXPECT_TRUE(last.starts_with("HTTP/1.1 405 Method Not Allowed\r\n")) << last;
  for (const char* line : {"\r\nAllow: GET\r\n", "\r\nConnection: close\r\n", "\r\nContent-Length: 4\r\n"})
    EXPECT_NE(last.find(line), std::string::npos) << last;
  EXPECT_TRUE(last.ends_with("\r\n\r\n"));
  EXPECT_NE(next.find("\r\nConnection: keep-alive\r\n"), std::string::npos) << next;
}

TEST(RouteFinder, AStarStandsForOneSegment) {
  const auto routes = some_routes();
  const FoundRoute found = find_route(routes, "GET", "/a/1%2f/b/x");
  ASSERT_EQ(found.route, &routes[2]);
  EXPECT_EQ(found.captured, (std::vector<std::string>{"1%2f", "x"}));
  for (const char* path : {"/a//b/x", "/a/1/b/", "/a/1/b", "/a/1/b/x/", "/a/1/2/b/x", "/A/1/b/x", "", "//", "/both/",
                           "/a/../b/x/y", "/../../etc/passwd"}) {
    const FoundRoute none = find_route(routes, "GET", path);
    EXPECT_EQ(none.route, nullptr) << path;
    EXPECT_EQ(none.allowed, "") << path;
  }
}

TEST(RouteFinder, MethodsOfAPathAreToldWhereNoneFits) {
  const auto routes = some_routes();
  EXPECT_EQ(find_route(routes, "GET", "/both").route, &routes[4]);
  EXPECT_EQ(find_route(routes, "HEAD", "/both").route, &routes[4]);
  const FoundRoute none = find_route(routes, "DELETE", "/both");
  EXPECT_EQ(none.route, nullptr);
  EXPECT_EQ(none.allowed, "POST, GET, HEAD");
}
