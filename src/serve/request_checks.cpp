#include "serve/request_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.hpp"
#include "serve/http.hpp"

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

constexpr std::size_t kMostHeadBytes = 32 << 10;
constexpr std::size_t kMostTarget = 8000;  // bytes
constexpr std::size_t kMostLine = 8000;
constexpr std::size_t kMostHeaders = 100;
/// Of two of these, another reader could take the other one.
constexpr std::string_view kOnce[]{"host",         "origin", "sec-fetch-site",   "authorization",
                                   "content-type", "expect", "content-encoding", "content-length"};

bool is_visible(std::string_view text, bool blanks) {
  return std::ranges::all_of(
      text, [&](unsigned char c) { return (c > ' ' && c != 127) || (blanks && (c == ' ' || c == '\t')); });
}

/// Whether the text is a token of RFC 9110, such as the name of a header.
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

/// Name in lower case and value of a line `Name: value` without its CRLF.
std::pair<std::string, std::string> parse_header(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) || !is_visible(line, true))
    throw HttpError(400, "every header must have the form 'Name: value'");
  return {lower_case(line.substr(0, colon)), std::string(trim(line.substr(colon + 1)))};
}

void parse_request_line(std::string_view line, RequestHead& head) {
  const auto first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || !is_token(line.substr(0, first)))
    throw HttpError(400, "the request line must be 'METHOD TARGET HTTP/1.1'");
  const std::string_view target = line.substr(first + 1, last - first - 1), version = line.substr(last + 1);
  if (!version.starts_with("HTTP/")) throw HttpError(400, "the request line must end in HTTP/1.1");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") throw HttpError(505, "only HTTP/1.1 and HTTP/1.0 are supported");
  if (target.size() > kMostTarget)
    throw HttpError(414, fmt::format("the request target has more than {} bytes", kMostTarget));
  if (!target.starts_with('/') || !is_visible(target, false))
    throw HttpError(400, "the request target must be a path that begins with '/'");
  head.method = line.substr(0, first);
  head.target = target;
  head.http_1_0 = version == "HTTP/1.0";
}

/// A part of a query as it was meant.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const bool coded = text[i] == '%' && i + 2 < text.size() &&
                       std::from_chars(&text[i + 1], &text[i + 3], byte, 16).ptr == &text[i + 3];
    out += coded ? static_cast<char>(byte) : text[i] == '+' ? ' ' : text[i];
    if (coded) i += 2;
  }
  return out;
}

void read_length(RequestHead& head) {
  for (const auto& [name, value] : head.headers) {
    if (name == "content-length") {
      std::uint64_t length = 0;
      const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), length);
      if (value.empty() || failed != std::errc() || end != value.data() + value.size() ||
          !std::isdigit(static_cast<unsigned char>(value[0])))
        throw HttpError(400, "Content-Length must be a single number");
      head.length = length;
    } else if (name == "transfer-encoding") {
      // Chunks have no bound before they are read, and readers disagree on where they end.
      throw HttpError(411, "Transfer-Encoding is not supported; send Content-Length");
    }
  }
}

}  // namespace

std::size_t end_of_head(std::string_view received, std::size_t& checked) {
  for (; checked < std::min(received.size(), kMostHeadBytes); ++checked) {
    const char c = received[checked], before = checked == 0 ? '\0' : received[checked - 1];
    if ((c == '\n') != (before == '\r')) throw HttpError(400, "every header line must end in CRLF");
    if (static_cast<unsigned char>(c) < ' ' && c != '\r' && c != '\n' && c != '\t')
      throw HttpError(400, "the headers contain a control character");
    if (c == '\n' && checked >= 3 && received[checked - 2] == '\n') return checked + 1;
  }
  if (checked >= kMostHeadBytes) throw HttpError(431, "the headers are too large");
  return 0;
}

std::map<std::string, std::string> checked_query(std::string_view target, const Route& route) {
  std::map<std::string, std::string> checked;
  const auto start = target.find('?');
  std::string_view rest = start == std::string_view::npos ? "" : target.substr(start + 1);
  rest = rest.substr(0, rest.find('#'));
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (part.empty()) continue;
    const auto equals = std::min(part.find('='), part.size());
    const std::string name = decoded(part.substr(0, equals)), shown = name.substr(0, 64);
    if (std::ranges::find(route.parameters, name) == route.parameters.end()) {
      const std::string known =
          route.parameters.empty() ? "none" : fmt::format("{}", fmt::join(route.parameters, ", "));
      throw HttpError(400, fmt::format("unknown query parameter '{}'; this path has: {}", shown, known),
                      {shown, known, "another parameter"});
    }
    if (!checked.emplace(name, decoded(part.substr(std::min(equals + 1, part.size())))).second)
      throw HttpError({shown, "one value", "several"});
  }
  return checked;
}

void RequestChecks::check(const RequestHead& head, const std::string& address, FoundRoute& found) const {
  if (!limiter_.allows(address, Clock::now())) throw refused("rate", {429, "too many requests from this address"});
  check_host(head);
  found = find_route(routes_, head.method, head.path());
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
  if (host == nullptr && !head.http_1_0) throw HttpError(400, "the request must have a Host header");
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

void RateLimiter::fill(Bucket& bucket, Clock::time_point now) const {
  const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
  bucket.tokens = std::min(burst(), bucket.tokens + std::max(seconds, 0.0) * rate_);
  bucket.filled = std::max(now, bucket.filled);
}

bool RateLimiter::allows(const std::string& client, Clock::time_point now) {
  if (rate_ == 0) return true;
  std::lock_guard lock(mutex_);
  auto found = buckets_.find(client);
  if (found == buckets_.end() && buckets_.size() >= most_clients_)
    std::erase_if(buckets_, [&](const auto& entry) {
      Bucket bucket = entry.second;
      fill(bucket, now);
      return bucket.tokens >= burst();
    });
  if (found == buckets_.end()) {
    const bool full = buckets_.size() >= most_clients_;
    found = buckets_.try_emplace(full ? std::string() : client, Bucket{burst(), now}).first;
  }
  Bucket& bucket = found->second;
  fill(bucket, now);
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

std::size_t RateLimiter::clients() const {
  std::lock_guard lock(mutex_);
  return buckets_.size();
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string media_type(std::string_view header) { return lower_case(trim(header.substr(0, header.find(';')))); }

const std::string* RequestHead::find(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return &value;
  return nullptr;
}

bool RequestHead::closes() const {
  const std::string* connection = find("connection");
  const std::string wish = connection == nullptr ? "" : lower_case(*connection);
  return wish.find("close") != std::string::npos || (http_1_0 && wish.find("keep-alive") == std::string::npos);
}

RequestHead parse_request_head(std::string_view text) {
  RequestHead head;
  for (std::size_t at = 0, number = 0; at < text.size(); ++number) {
    const auto end = text.find('\n', at);
    if (end == std::string_view::npos || end == at || text[end - 1] != '\r')
      throw HttpError(400, "every header line must end in CRLF");
    const std::string_view line = text.substr(at, end - 1 - at);
    at = end + 1;
    if (number == 0) {
      parse_request_line(line, head);
      continue;
    }
    if (line.empty()) break;
    if (line.size() > kMostLine) throw HttpError(431, fmt::format("a header has more than {} bytes", kMostLine));
    if (head.headers.size() == kMostHeaders) throw HttpError(431, fmt::format("more than {} headers", kMostHeaders));
    head.headers.push_back(parse_header(line));
    const std::string& name = head.headers.back().first;
    if (std::ranges::count(kOnce, name) > 0 && head.find(name) != &head.headers.back().second)
      throw HttpError(400, fmt::format("more than one header {}", name));
  }
  if (head.method.empty()) throw HttpError(400, "the head has no request line");
  read_length(head);
  return head;
}

}  // namespace parsnets
