#include "serve/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "serve/request_checks.hpp"
#include "serve/response_text.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostReserved = 1 << 20;  // bytes for a body before any of it has come

/// cpp-httplib does not tell its handlers which connection they serve.
thread_local Exchange* current = nullptr;

void fill(httplib::Response& to, HttpResponse from, bool page) {
  to.status = from.status;
  for (const auto& [name, value] : headers_of(from, page)) to.set_header(name, value);
  to.set_header("Content-Type", from.type);
  to.body = std::move(from.body);
  current->status = from.status;
}

}  // namespace

Exchanger::Exchanger(ExchangeLimits limits, Metrics& metrics) : limits_(limits), metrics_(metrics) {
  set_payload_max_length(limits_.body_bytes);
  set_keep_alive_timeout(std::chrono::ceil<std::chrono::seconds>(limits_.idle).count());
  set_keep_alive_max_count(1000000);
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    if (request.method == "POST") return HandlerResponse::Unhandled;  // its body comes first
    answer(request, response);
    return HandlerResponse::Handled;
  });
  Post(".*", [this](const httplib::Request& request, httplib::Response& response,
                    const httplib::ContentReader& reader) { read_body_and_answer(request, response, reader); });
  set_error_handler(
      HandlerWithResponse([](const httplib::Request&, httplib::Response& response) {  // its own refusals have no body
        current->status = response.status;
        if (!response.body.empty()) return HandlerResponse::Unhandled;
        fill(response, error_response(HttpError(response.status, "the request is not valid")), false);
        response.set_header("Connection", "close");
        return HandlerResponse::Handled;
      }));
}

bool Exchanger::finish(Exchange& exchange, bool last) {
  Connection& connection = *exchange.connection;
  connection.replay(exchange.head.text());
  current = &exchange;
  bool closed = false;
  const bool written = process_request(connection, last, closed, nullptr) && connection.flush();
  current = nullptr;
  return written && !last && !closed && exchange.body_complete;
}

void Exchanger::answer(const httplib::Request& request, httplib::Response& response) {
  Exchange& exchange = *current;
  HttpRequest& asked = exchange.request;
  asked.method = request.method == "HEAD" ? "GET" : request.method;
  asked.path = request.path;
  asked.captured = std::move(exchange.found.captured);
  asked.deadline = exchange.connection->deadline();
  const Route& route = *exchange.found.route;
  metrics_.add_in_flight(1);
  fill(response, response_of([&] {
         asked.query = checked_query(request.params, route);
         return route.handle(asked);
       }),
       route.page);
  metrics_.add_in_flight(-1);
  // The time of the response begins when there is one.
  exchange.connection->set_deadline(Clock::now() + limits_.response);
}

void Exchanger::read_body_and_answer(const httplib::Request& request, httplib::Response& response,
                                     const httplib::ContentReader& reader) {
  Exchange& exchange = *current;
  HttpRequest& asked = exchange.request;
  if (const std::string* type = exchange.head.find("content-type")) asked.content_type = *type;
  asked.type = media_type(asked.content_type);
  asked.body = std::move(exchange.room);
  asked.body.clear();
  asked.body.reserve(std::min<std::size_t>(exchange.head.length.value_or(0), kMostReserved));
  const bool complete = reader([&](const char* data, std::size_t size) {
    asked.body.append(data, size);
    return asked.body.size() <= limits_.body_bytes;
  });
  exchange.body_complete = complete;
  if (complete) return answer(request, response);
  const HttpError error = exchange.connection->timed_out() ? HttpError(408, "the body took too long to arrive")
                          : asked.body.size() > limits_.body_bytes
                              ? HttpError(413, fmt::format("the body has more than {} bytes", limits_.body_bytes))
                              : HttpError(400, "the body is incomplete");
  fill(response, error_response(error), false);
  response.set_header("Connection", "close");
  exchange.connection->set_deadline(Clock::now() + limits_.response);
}

}  // namespace parsnets
