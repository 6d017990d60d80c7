#include "serve/route_finder.hpp"

#include <gtest/gtest.h>

namespace {

using namespace parsnets;

std::vector<Route> some_routes() {
  const auto nothing = [](const HttpRequest&) { return HttpResponse{}; };
  return {{"GET", "/", nothing},
          {"GET", "/a/sheet", nothing},
          {"GET", "/a/*/b/*", nothing},
          {"POST", "/both", nothing},
          {"GET", "/both", nothing}};
}

}  // namespace

TEST(RouteFinder, AStarStandsForOneSegment) {
  const auto routes = some_routes();
  const FoundRoute found = find_route(routes, "GET", "/a/1%2f/b/x");
  ASSERT_EQ(found.route, &routes[2]);
  EXPECT_EQ(found.captured, (std::vector<std::string>{"1%2f", "x"}));
  for (const char* path : {"/a//b/x", "/a/1/b/", "/a/1/b", "/a/1/b/x/", "/a/1/2/b/x", "/A/1/b/x", "", "//", "/both/"}) {
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
