#include "serve/routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "formats/npy.hpp"
#include "images/features_of_image.hpp"
#include "parsnets/error.hpp"
#include "serve/playground_files.hpp"

namespace parsnets {

namespace {

/// A request of /v1/predict or /v1/explain and its features, which photographs have not yet.
struct Asked {
  PredictRequest request;
  Matrix<float> features;
};

Matrix<float> npy_features(const Service& service, const std::string& body) {
  Matrix<float> features = parse_npy_float(std::as_bytes(std::span(body)), "the body");
  if (features.cols() != service.limits().dimensions)
    throw HttpError(
        {"array", fmt::format("{} columns", service.limits().dimensions), fmt::format("{}", features.cols())});
  if (features.rows() > service.limits().batch)
    throw HttpError(
        413, "the array has too many rows",
        {"array", fmt::format("at most {} rows", service.limits().batch), fmt::format("{}", features.rows())});
  return features;
}

/// One row for each photograph of the request.
Matrix<float> rows_of(const Photographs* photographs, PredictRequest& request, const HttpRequest& http) {
  if (photographs == nullptr)
    throw HttpError(415, "this server does not accept photographs: it was started without a backbone");
  Matrix<float> rows(request.photographs.size(), photographs->source().dimensions);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const std::string bytes = std::move(request.photographs[i]);
    try {
      const Matrix<float> row = photographs->features_of(std::as_bytes(std::span(bytes)), http.deadline);
      std::ranges::copy(row.row(0), rows.row(i).begin());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_input || rows.rows() == 1) throw;
      const BadInput parts = error.parts();
      throw HttpError(400, error.message(), {fmt::format("photographs[{}]", i), parts.expected, parts.found});
    }
  }
  return rows;
}

bool is_photograph(const std::string& type) {
  return type == "image/jpeg" || type == "image/png" || type == "image/webp" || type == "image/bmp";
}

Asked asked_of(const Service& service, const HttpRequest& http) {
  if (http.type == "application/json") {
    if (!http.query.empty())
      throw HttpError({http.query.begin()->first.substr(0, 64), "parameters in the body", "one in the address"});
    Asked asked{parse_predict_request(http.body, service.limits()), {}};
    if (asked.request.photographs.empty()) asked.features = service.features_of(asked.request);
    return asked;
  }
  if (http.type == "application/x-npy")
    return {parse_predict_query(http.query, service.limits()), npy_features(service, http.body)};
  if (is_photograph(http.type)) {
    Asked asked{parse_predict_query(http.query, service.limits()), {}};
    asked.request.photographs = {http.body};
    return asked;
  }
  throw HttpError(
      415, "the body must be JSON, an array or a photograph",
      {"Content-Type", "application/json, application/x-npy, image/jpeg, image/png, image/webp or image/bmp",
       http.type.empty() ? "none" : "'" + http.type.substr(0, 64) + "'"});
}

template <class Value>
Value one_of(const std::vector<std::pair<std::string, Value>>& values, const HttpRequest& http, const std::string& name,
             Value otherwise) {
  const auto given = http.query.find(name);
  if (given == http.query.end()) return otherwise;
  std::string names;
  for (const auto& [text, value] : values) {
    if (text == given->second) return value;
    names += (names.empty() ? "" : ", ") + text;
  }
  throw HttpError({name, names, "'" + given->second.substr(0, 64) + "'"});
}

HttpResponse bank_response(const Service& service, Turnstile& turnstile, const HttpRequest& http) {
  if (http.type != "application/json")
    throw HttpError(415, "the body must be JSON", {"Content-Type", "application/json", http.type});
  const bool device = one_of<bool>({{"table", false}, {"device", true}}, http, "format", false);
  if (!device && http.query.contains("precision"))
    throw HttpError(400, "`precision` requires format=device", {"precision", "format=device", "format=table"});
  const Precision precision = one_of(precision_names(), http, "precision", Precision::int8);
  const BankEdit edit = parse_bank_request(http.body, service.limits());
  const auto turn = turnstile.enter(http.deadline);
  const auto attachment = [](const char* file) {
    return std::vector<std::pair<std::string, std::string>>{
        {"Content-Disposition", fmt::format("attachment; filename=\"{}\"", file)}};
  };
  return device ? HttpResponse{200, "application/octet-stream", service.device_bank(edit, precision),
                               attachment("classes.bank")}
                : HttpResponse{200, "text/csv; charset=utf-8", service.bank_csv(edit), attachment("classes.csv")};
}

HttpResponse not_there(const char* what) { throw HttpError(404, fmt::format("the server has no {}", what)); }

}  // namespace

std::vector<Route> routes_of(const Service& service, const Photographs* photographs, Turnstile& turnstile,
                             Metrics& metrics) {
  std::vector<Route> routes;
  const auto page = [&](const char* path, const char* type, std::string_view (*content)()) {
    routes.push_back({"GET", path,
                      [type, content](const HttpRequest&) {
                        return HttpResponse{200, std::string(type) + "; charset=utf-8", std::string(content())};
                      },
                      true, true});
  };
  page("/", "text/html", playground_html);
  page("/playground.css", "text/css", playground_css);
  page("/playground.js", "text/javascript", playground_js);
  const auto get = [&](const char* path, auto handle) { routes.push_back({"GET", path, handle}); };
  const auto json = [](std::string text) { return HttpResponse{200, "application/json", std::move(text)}; };
  get("/openapi.json", [json](const HttpRequest&) { return json(std::string(openapi_json())); });
  routes.back().open = true;
  get("/healthz", [json](const HttpRequest&) { return json("{\"status\":\"ok\"}"); });
  routes.back().open = true;
  get("/metrics", [&metrics](const HttpRequest&) {
    return HttpResponse{200, "text/plain; version=0.0.4", metrics.text()};
  });
  get("/v1/model", [&service, json](const HttpRequest&) { return json(service.model_json()); });
  get("/v1/classes", [&service, json](const HttpRequest&) { return json(service.classes_json()); });
  get("/v1/samples", [&service, json](const HttpRequest&) { return json(service.samples_json()); });
  get("/v1/samples/sheet", [&service](const HttpRequest&) {
    const Picture& sheet = service.samples().sheet;
    return sheet.bytes.empty() ? not_there("sheet of pictures") : HttpResponse{200, sheet.type, sheet.bytes};
  });
  get("/v1/samples/*/picture", [&service](const HttpRequest& http) {
    const std::string& id = http.captured[0];
    std::size_t place = 0;
    const auto [end, failed] = std::from_chars(id.data(), id.data() + id.size(), place);
    const auto& pictures = service.samples().pictures;
    if (id.empty() || failed != std::errc() || end != id.data() + id.size() || place >= pictures.size())
      return not_there("such picture");
    return HttpResponse{200, pictures[place].type, pictures[place].bytes};
  });
  const auto compute = [&](const char* path, const std::vector<std::string>& parameters, auto answer) {
    routes.push_back({"POST", path,
                      [&service, photographs, &turnstile, json, answer](const HttpRequest& http) {
                        Asked asked;
                        if (is_photograph(http.type)) {
                          asked = asked_of(service, http);
                        } else {
                          const auto turn = turnstile.enter(http.deadline);
                          asked = asked_of(service, http);
                          if (asked.request.photographs.empty()) return json(answer(asked));
                        }
                        // Photographs have a queue of their own.
                        asked.features = rows_of(photographs, asked.request, http);
                        const auto turn = turnstile.enter(http.deadline);
                        return json(answer(asked));
                      },
                      false, false, parameters});
  };
  compute("/v1/predict", {kPredictParameters.begin(), kPredictParameters.end()},
          [&service, &metrics](const Asked& asked) {
            std::string text = service.predict(asked.request, asked.features.view());
            metrics.add_predictions(asked.features.rows());
            return text;
          });
  compute("/v1/explain", {"bank"},
          [&service](const Asked& asked) { return service.explain(asked.request, asked.features.view()); });
  routes.push_back({"POST", "/v1/suggest", [&service, &turnstile, json](const HttpRequest& http) {
                      if (http.type != "application/json")
                        throw HttpError(415, "the body must be JSON", {"Content-Type", "application/json", http.type});
                      const SuggestRequest request = parse_suggest_request(http.body, service.limits());
                      const auto turn = turnstile.enter(http.deadline);
                      return json(service.suggest(request));
                    }});
  const auto bank = [&service, &turnstile](const HttpRequest& http) { return bank_response(service, turnstile, http); };
  routes.push_back({"POST", "/v1/bank", bank, false, false, {"format", "precision"}});
  return routes;
}

Turnstile::Turn Turnstile::enter(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  if (free_ > 0) {
    --free_;
    return Turn(*this);
  }
  Waiter own;
  waiting_.push_back(&own);
  lock.unlock();
  const bool called = own.called.try_acquire_until(deadline);
  lock.lock();  // leave() is done with `own` then
  if (!called && !own.has_turn) {
    std::erase(waiting_, &own);
    throw HttpError(503, fmt::format("too many {} are waiting", what_));
  }
  return Turn(*this);
}

void Turnstile::leave() {
  std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    ++free_;
    return;
  }
  Waiter& next = *waiting_.front();
  waiting_.pop_front();
  next.has_turn = true;
  next.called.release();
}

Photographs::Photographs(std::unique_ptr<Backbone> backbone, FeatureSource source, ImageLimits limits, unsigned cores)
    : backbone_(std::move(backbone)),
      source_(std::move(source)),
      limits_(limits),
      turns_(std::max(cores, 1u), "photographs") {}

Matrix<float> Photographs::features_of(std::span<const std::byte> image, Clock::time_point deadline) const {
  check_image(image, limits_, "the photograph");  // what is refused does not wait
  const auto turn = turns_.enter(deadline);
  const std::vector<float> features = features_of_image(*backbone_, source_.input, image, "the photograph", limits_);
  return Matrix<float>::copy_of({features.data(), 1, features.size()});
}

}  // namespace parsnets
