#include "serve/request_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace parsnets {

namespace {

/// Takes the same time wherever the two differ.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[b.empty() ? 0 : i % b.size()]);
  return different == 0;
}

/// Of a Host header, what stands before the port, in lower case.
std::string name_of(std::string_view host) {
  const auto colon = host.rfind(':');
  const bool port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos &&
                    host.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  return lower_case(port ? host.substr(0, colon) : host);
}

}  // namespace

std::map<std::string, std::string> checked_query(const std::multimap<std::string, std::string>& query,
                                                 const Route& route) {
  std::map<std::string, std::string> checked;
  for (const auto& [name, value] : query) {
    const std::string shown = name.substr(0, 64);
    if (std::ranges::find(route.parameters, name) == route.parameters.end()) {
      const std::string known =
          route.parameters.empty() ? "none" : fmt::format("{}", fmt::join(route.parameters, ", "));
      throw HttpError(400, fmt::format("unknown query parameter '{}'; this path has: {}", shown, known),
                      {shown, known, "another parameter"});
    }
    if (!checked.emplace(name, value).second) throw HttpError({shown, "one value", "several"});
  }
  return checked;
}

void RequestChecks::check(const RequestHead& head, const std::string& address, FoundRoute& found) const {
  if (!limiter_.allows(address, Clock::now())) throw refused("rate", {429, "too many requests from this address"});
  check_host(head);
  found = find_route(routes_, head.method, std::string_view(head.target).substr(0, head.target.find_first_of("?#")));
  if (found.route == nullptr || !found.route->open) {
    check_site(head);
    if (!rules_.token.empty()) check_token(head);
  }
  if (found.allowed.empty()) throw HttpError(404, "there is nothing at this path");
  if (found.route == nullptr)
    throw HttpError(405, "this path does not support the method", {"", found.allowed, head.method});
  if (head.method == "POST") {
    check_body(head);
  } else if (head.has_body()) {
    throw HttpError(400, "a GET request must not have a body");
  }
}

void RequestChecks::check_host(const RequestHead& head) const {
  const std::string* host = head.find("host");
  if (std::ranges::count(head.headers, "host", &std::pair<std::string, std::string>::first) > 1 ||
      (host == nullptr && !head.http_1_0))
    throw HttpError(400, "the request must have exactly one Host header");
  // A page of another site can have its name point here; it cannot change what its requests call this host. The port
  // may be another: that of a tunnel.
  if (!rules_.hosts.empty() && host != nullptr && std::ranges::find(rules_.hosts, name_of(*host)) == rules_.hosts.end())
    throw refused("host", {403, "the Host header does not name this server"});
}

void RequestChecks::check_token(const RequestHead& head) const {
  const std::string* given = head.find("authorization");
  const std::string_view scheme = "bearer ";
  if (given == nullptr || lower_case(given->substr(0, scheme.size())) != scheme)
    throw refused("token", {401, "this server needs a token; send it as 'Authorization: Bearer TOKEN'"});
  if (!same_secret(std::string_view(*given).substr(scheme.size()), rules_.token))
    throw refused("token", {401, "the token is wrong"});
}

void RequestChecks::check_site(const RequestHead& head) const {
  const std::string *origin = head.find("origin"), *host = head.find("host"), *site = head.find("sec-fetch-site");
  // "none": typed by the user. Browsers send no Origin with images and scripts of other sites.
  if (site != nullptr && *site != "same-origin" && *site != "none")
    throw refused("origin", {403, "requests from pages of other sites are refused"});
  if (origin == nullptr) return;
  const std::string from = lower_case(*origin), here = host == nullptr ? "" : lower_case(*host);
  if (host == nullptr || (from != "http://" + here && from != "https://" + here))
    throw refused("origin", {403, "requests from pages of other sites are refused"});
}

void RequestChecks::check_body(const RequestHead& head) const {
  if (!head.length) throw HttpError(411, "the request has no Content-Length");
  if (*head.length > rules_.body_bytes)
    throw HttpError(413, fmt::format("the body has more than {} bytes", rules_.body_bytes));
  const std::string* coding = head.find("content-encoding");
  if (coding != nullptr && *coding != "identity") throw HttpError(415, "compressed bodies are not supported");
  const std::string* expect = head.find("expect");
  if (expect != nullptr && lower_case(*expect) != "100-continue")
    throw HttpError(417, "the only supported expectation is 100-continue");
}

HttpError RequestChecks::refused(const char* reason, HttpError error) const {
  metrics_.add_refused(reason);
  return error;
}

}  // namespace parsnets
