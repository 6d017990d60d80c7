// The paths of the server over real connections: what docs/openapi.json promises, and requests that mean harm.

#include "serve/routes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/file.hpp"
#include "base/machine.hpp"
#include "base/text.hpp"
#include "formats/npy.hpp"
#include "model/prediction.hpp"
#include "parsnets/error.hpp"
#include "parsnets/field.hpp"
#include "paths.hpp"
#include "serve/json_reader.hpp"
#include "serve/served_model.hpp"

namespace {

using namespace parsnets::test;
using namespace parsnets;
using namespace std::chrono_literals;
using namespace std::string_literals;
using Json = nlohmann::json;

ServedModel& served() {
  static ServedModel model;
  return model;
}

std::string numbers(std::size_t count, const std::string& value = "0.5") {
  std::string text = "[" + value;
  for (std::size_t i = 1; i < count; ++i) text += "," + value;
  return text + "]";
}

/// A class for a bank to add, with `attributes` equal numbers.
std::string class_json(const std::string& name, std::size_t attributes) {
  return R"({"class":")" + name + R"(","attributes":)" + numbers(attributes) + "}";
}

/// What stands between the bars of a text, without blanks and ends of lines around it.
std::vector<std::string> between_bars(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('|', at), text.size());
    const auto first = text.find_first_not_of(" \n", at), last = text.find_last_not_of(" \n", end - 1);
    parts.push_back(text.substr(first, last + 1 - first));
    at = end + 1;
  }
  return parts;
}

std::string npy(std::size_t rows, std::size_t cols) {
  std::string file = npy_header_text("<f4", {rows, cols});
  const std::vector<float> values(rows * cols, 0.5f);
  return file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

/// What is wrong with a value by a schema; empty: nothing. Knows what docs/openapi.json uses.
std::string schema_mismatch(const Json& value, const Json& schema, const Json& document, const std::string& place) {
  if (schema.contains("$ref")) {
    const std::string ref = schema["$ref"];
    return schema_mismatch(value, document.at(Json::json_pointer(ref.substr(1))), document, place);
  }
  if (value.is_null()) return schema.value("nullable", false) ? "" : place + " is null";
  const std::string type = schema.value("type", "");
  const bool fits = type == "object"    ? value.is_object()
                    : type == "array"   ? value.is_array()
                    : type == "string"  ? value.is_string()
                    : type == "boolean" ? value.is_boolean()
                    : type == "integer" ? value.is_number_integer()
                    : type == "number"  ? value.is_number()
                                        : true;
  if (!fits) return place + " is not of type " + type;
  if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end())
    return place + " is none of the values";
  for (const auto& key : schema.value("required", Json::array()))
    if (!value.contains(key)) return place + " lacks " + key.get<std::string>();
  if (type == "object")
    for (const auto& [key, member] : value.items()) {
      if (schema.value("additionalProperties", false)) return "";
      if (!schema.at("properties").contains(key)) return place + " has an undocumented " + key;
      if (const auto wrong = schema_mismatch(member, schema["properties"][key], document, place + "." + key);
          !wrong.empty())
        return wrong;
    }
  if (type == "array")
    for (const auto& element : value)
      if (const auto wrong = schema_mismatch(element, schema.at("items"), document, place + "[]"); !wrong.empty())
        return wrong;
  return "";
}

/// Stays in run() until it is let go.
class Waiting : public MeanColours {
 public:
  Waiting() : MeanColours(4) {}
  std::string run(std::span<const float>, std::size_t, std::span<float> features) override {
    std::ranges::fill(features, 1.0f);
    entered.count_down();
    leave.wait();
    return "";
  }
  std::latch entered{1}, leave{1};
};

}  // namespace

TEST(Routes, PredictionsAreThoseOfThePredictor) {
  ThreadPool pool(1);
  const Model model = model_to_serve();
  const Matrix<float> x = small_samples(10);
  const Predictor predictor(model, pool);
  std::vector<RankedClass> best(10 * 3);
  predictor.rank(x.view(), Ranking(model), pool, best);
  std::string features = "[";
  for (std::size_t r = 0; r < 10; ++r) {
    std::string row;
    for (const float v : x.row(r)) row += (row.empty() ? "" : ",") + fmt::format("{}", v);
    features += (r > 0 ? ",[" : "[") + row + "]";
  }
  const auto by_samples = served().post("/v1/predict", R"({"samples":"all","top":3})");
  EXPECT_EQ(served().post("/v1/predict", "{\"features\":" + features + "],\"top\":3}").body, by_samples.body);
  std::string file = npy_header_text("<f4", {10, x.cols()});
  file.append(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float));
  EXPECT_EQ(served().post("/v1/predict?top=3", file, "application/x-npy").body, by_samples.body);
  const Json answer = by_samples.json();
  ASSERT_EQ(answer["predictions"].size(), 10u);
  for (std::size_t r = 0; r < 10; ++r)
    for (std::size_t k = 0; k < 3; ++k) {
      const Json& given = answer["predictions"][r]["classes"][k];
      EXPECT_EQ(given["class"], model.classes.names[static_cast<std::size_t>(best[r * 3 + k].class_index)]);
      EXPECT_EQ(given["score"].get<float>(), best[r * 3 + k].score);
      EXPECT_EQ(given["confidence"].get<float>(), best[r * 3 + k].confidence);
    }
  EXPECT_EQ(served().service.samples().samples.size(), 10u);
}

TEST(Routes, AClassThatARequestAddsCanWin) {
  const Json classes = served().get("/v1/classes").json();
  const Json before = served().post("/v1/predict", R"({"samples":[3],"top":1,"reject":false})").json();
  const std::string winner = before["predictions"][0]["classes"][0]["class"];
  Json described;
  for (const auto& c : classes["classes"])
    if (c["class"] == winner) described = c["attributes"];
  const Json bank{{"remove", {winner}}, {"add", {{{"class", "drawn by hand"}, {"attributes", described}}}}};
  const Json after =
      served()
          .post("/v1/predict", Json{{"samples", {3}}, {"top", 16}, {"bank", bank}, {"reject", false}}.dump())
          .json();
  std::set<std::string> names;
  for (const auto& c : after["predictions"][0]["classes"]) names.insert(c["class"].get<std::string>());
  EXPECT_TRUE(names.contains("drawn by hand"));
  EXPECT_FALSE(names.contains(winner));
  EXPECT_EQ(served().post("/v1/predict", R"({"samples":[3],"top":1,"reject":false})").json(), before)
      << "an edit holds for its request alone";
  const auto csv = served().post("/v1/bank", Json{{"bank", bank}}.dump());
  EXPECT_TRUE(csv.body.starts_with("class,"));
  EXPECT_NE(csv.body.find("\ndrawn by hand,"), std::string::npos);
  EXPECT_EQ(csv.body.find("\n" + winner + ","), std::string::npos);
  EXPECT_EQ(served().post("/v1/bank?format=table", Json{{"bank", bank}}.dump()).body, csv.body);
}

TEST(Routes, AClassIsAddedByTheNamesOfItsAttributes) {
  const Json classes = served().get("/v1/classes").json();
  const std::string like = classes["classes"][2]["class"], changed = classes["attributes"][1]["name"];
  Json values = classes["classes"][2]["attributes"];
  values[1] = 0.25;
  const auto table = [&](const Json& added) {
    return served().post("/v1/bank", Json{{"bank", {{"add", {added}}}}}.dump());
  };
  const auto named = table({{"class", "new"}, {"like", like}, {"attributes", {{changed, 0.25}}}});
  EXPECT_EQ(named.status, 200) << named.body;
  EXPECT_EQ(named.body, table({{"class", "new"}, {"attributes", values}}).body);
  const auto wrong = table({{"class", "new"}, {"like", like}, {"attributes", {{changed + "x", 0.25}}}});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.json()["field"], "bank.add[0].attributes");
  EXPECT_NE(wrong.body.find("did you mean '" + changed + "'?"), std::string::npos) << wrong.body;
}

TEST(Routes, SuggestsSamplesAndLearnsTheirLabels) {
  auto& s = served();
  ThreadPool pool(1);
  Model model = model_to_serve();
  const Matrix<float> x = small_samples(10);
  const std::vector<std::size_t> expected = suggest(model, x.view(), 3, pool);
  ASSERT_FALSE(expected.empty());
  std::vector<std::size_t> found;
  const Json first = s.post("/v1/suggest", R"({"count":3})").json();
  const Json now = s.post("/v1/predict", R"({"samples":"all","top":1})").json()["predictions"];
  for (const Json& one : first["suggestions"]) {
    found.push_back(one["sample"]);
    EXPECT_EQ(one["guess"], now[found.back()]["classes"][0]["class"]);
  }
  EXPECT_EQ(found, expected);
  // The labels are examples of a class, for this request alone.
  const std::string name = first["suggestions"][0]["guess"];
  const std::string bank =
      R"({"teach":[{"class":)" + json_string(name) + R"(,"samples":[)" + std::to_string(expected[0]) + "]}]}";
  teach(model, name, MatrixView<const float>(x.row(expected[0]).data(), 1, x.cols()), pool);
  const Predictor predictor(model, pool);
  std::vector<RankedClass> best(10);
  predictor.rank(x.view(), Ranking(model), pool, best);
  const Json taught = s.post("/v1/predict", R"({"samples":"all","top":1,"bank":)" + bank + "}").json()["predictions"];
  for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(taught[i]["classes"][0]["score"], best[i].score, 1e-5) << i;
  EXPECT_NE(taught, now);
  EXPECT_EQ(s.post("/v1/predict", R"({"samples":"all","top":1})").json()["predictions"], now);
  const std::vector<std::size_t> with_it = suggest(model, x.view(), 100, pool);
  ASSERT_NE(std::ranges::find(with_it, expected[0]), with_it.end()) << "without the label it would be suggested again";
  const Json others = s.post("/v1/suggest", R"({"count":100,"bank":)" + bank + "}").json();
  EXPECT_FALSE(others["suggestions"].empty());
  for (const Json& one : others["suggestions"]) EXPECT_NE(one["sample"], expected[0]) << "has a label";
  // What cannot be taught, and where that is said.
  const auto field = [&](const std::string& edit, const char* target = "/v1/suggest") {
    const RawResponse response = s.post(target, "{\"bank\":{" + edit + "}}");
    EXPECT_EQ(response.status, 400) << edit;
    return response.json().value("field", "");
  };
  EXPECT_EQ(field(R"("teach":[{"class":"nobody","samples":[1]}])"), "bank.teach[0].class");
  EXPECT_EQ(field(R"("teach":[{"class":"nobody","samples":[10]}])"), "bank.teach[0].samples[0]");
  EXPECT_EQ(field(R"("teach":[{"class":"a","samples":[1]},{"class":"b","samples":[1]}])"), "bank.teach[1].samples[0]");
  EXPECT_EQ(field(R"("teach":[{"class":"a","samples":[]}])"), "bank.teach[0]");
  EXPECT_EQ(
      field(R"("teach":[{"class":)" + json_string(name) + R"(,"samples":[1]}],"remove":[)" + json_string(name) + "]"),
      "bank.teach[0].class");
  EXPECT_EQ(field(bank.substr(1, bank.size() - 2), "/v1/bank"), "bank.teach");
  EXPECT_EQ(s.post("/v1/suggest", R"({"count":0})").json()["field"], "count");
  // A class that the request adds can be taught, too.
  const std::string added = R"("add":[)" + class_json("new", s.service.limits().attributes) +
                            R"(],"teach":[{"class":"new","samples":[0,1]}])";
  const auto own = s.post("/v1/predict", R"({"samples":[0],"bank":{)" + added + "}}");
  EXPECT_EQ(own.status, 200) << own.body;
}

TEST(Routes, ErrorsNameThePlaceInTheRequest) {
  const auto error = [](const char* path, const std::string& body, const std::string& type = "application/json") {
    return served().post(path, body, type).json();
  };
  const std::string known = served().get("/v1/classes").json()["classes"][0]["class"];
  for (const char* path : {"/v1/predict", "/v1/explain"}) {
    const Json removed = error(path, Json{{"samples", {0}}, {"bank", {{"remove", {known, "none"}}}}}.dump());
    EXPECT_EQ(removed["field"], "bank.remove[1]") << removed;
  }
  EXPECT_EQ(error("/v1/explain", R"({"samples":[0,1]})")["field"], "samples");
  EXPECT_EQ(error("/v1/explain", npy(2, 48), "application/x-npy")["field"], "array");
  const Json option = error("/v1/explain", R"({"samples":[0],"top":3})");
  EXPECT_EQ(option["detail"], "/v1/explain takes one sample and `bank`; `top` is not allowed");
  EXPECT_EQ(option["field"], "top");
}

TEST(Routes, SamplesAreRejectedOnRequest) {
  const Json plain = served().post("/v1/predict", R"({"samples":"all"})").json(),
             rejected = served().post("/v1/predict", R"({"samples":"all","reject":true})").json();
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(plain["predictions"][i]["unknown"].is_null());
    EXPECT_TRUE(rejected["predictions"][i]["unknown"].is_boolean());
    EXPECT_EQ(plain["predictions"][i]["classes"], rejected["predictions"][i]["classes"]);
  }
}

TEST(Routes, TheModelTellsThePriceOfRejection) {
  Model model = model_to_serve();
  const auto rejection = [](const Model& of) {
    return Json::parse(Service(shared_copy(of), {}, {}).model_json())["rejection"];
  };
  EXPECT_EQ(rejection(model), (Json{{"false_accept", 0.05}}));
  auto& found = model.record.rejection.emplace();
  found.rejected_seen = 10;
  found.rejected_unseen = 25;
  found.auroc = 87.5;
  EXPECT_EQ(rejection(model),
            (Json{{"false_accept", 0.05}, {"rejected_seen", 0.1}, {"rejected_unseen", 0.25}, {"auroc", 0.875}}));
  model.rejection = {};
  EXPECT_TRUE(rejection(model).is_null());
}

TEST(Routes, NoDataGoToPagesOfOtherSites) {
  auto& s = served();
  for (const Route& route : routes_of(s.service, nullptr, s.turnstile, s.metrics)) {
    std::string path = route.path;
    if (const auto star = path.find('*'); star != std::string::npos) path.replace(star, 1, "1");
    for (const char* foreign : {"Origin: http://evil\r\n", "Sec-Fetch-Site: cross-site\r\n"}) {
      const auto response = ask(s.port(), request_text(s.port(), route.method, path, "", "", foreign));
      EXPECT_EQ(response.status, route.open ? 200 : 403) << path << " " << foreign;
      EXPECT_EQ(response.problem(), route.open ? "" : "Forbidden") << path;
      EXPECT_FALSE(route.open && path.starts_with("/v1")) << path;
    }
  }
}

TEST(Routes, WhatIsBeyondTheRangeOfNumbersIsNull) {
  for (const char* value : {"3e38", "-3e38"}) {
    const std::string rows =
        "{\"features\":[" + numbers(served().service.limits().dimensions, value) + "],\"reject\":true}";
    const auto response = served().post("/v1/predict", rows);
    ASSERT_EQ(response.status, 200);
    ASSERT_TRUE(response.json().is_object()) << response.body;
    EXPECT_TRUE(response.json()["predictions"][0]["known_score"].is_null()) << response.body;
  }
}

TEST(Routes, OneClassHasNothingToCompareWith) {
  const Json classes = served().get("/v1/classes").json()["classes"];
  Json others = Json::array();
  for (std::size_t c = 1; c < classes.size(); ++c) others.push_back(classes[c]["class"]);
  const std::string body = Json{{"samples", {0}}, {"bank", {{"remove", others}}}}.dump();
  EXPECT_EQ(served().post("/v1/predict", body).status, 200);
  const auto refused = served().post("/v1/explain", body);
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("nothing to compare"), std::string::npos) << refused.body;
}

TEST(Routes, ClassesKnownByExamplesAloneHaveNoAttributesAndNoRowInTheTable) {
  Model model = model_to_serve();
  model.classes.described.assign(model.classes.names.size(), 1);
  model.classes.described[1] = 0;
  model.classes.semantics(1, 0) = 1e6f;  // means nothing
  const std::vector<std::string> names = model.classes.names;
  const Service service(std::move(model), {}, {});
  const std::string table = service.bank_csv({});
  EXPECT_EQ(table.find("\n" + names[1] + ","), std::string::npos);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(table, '\n')), service.limits().classes);
  const Json classes = Json::parse(service.classes_json());
  EXPECT_TRUE(classes["classes"][0]["attributes"].is_array());
  EXPECT_TRUE(classes["classes"][1]["attributes"].is_null());
  EXPECT_LT(classes["attributes"][0]["maximum"], 1e6);
  PredictRequest two;
  two.has_input = true;
  two.bank.remove.assign(names.begin() + 2, names.end());
  const Json why = Json::parse(service.explain(two, small_samples(1).view()));
  const bool wins = why["winner"]["class"] == names[1];
  for (const Json& attribute : why["attributes"]) {
    EXPECT_TRUE(attribute[wins ? "winner" : "runner_up"].is_null());
    EXPECT_TRUE(attribute[wins ? "runner_up" : "winner"].is_number());
  }
}

TEST(Routes, TheDescriptionMatchesTheServer) {
  const std::filesystem::path root(PARSNETS_SOURCE_DIR);
  const Json document = Json::parse(read_text_file(root / "docs/openapi.json"));
  auto& s = served();
  ServedModel guarded({.token = "0123456789abcdef", .body_bytes = 5000});
  const std::string row = numbers(s.service.limits().dimensions);
  const std::string plain = "{\"features\":[" + row + "],\"bank\":{}}";
  const std::string good =
      "{\"features\":[" + row + "],\"attributes\":true,\"coverage\":0.9,\"reject\":true,\"return_features\":true}";
  const std::string image = bmp_file(8, 8);
  const auto real_path = [](const std::string& path) {
    return path == "/v1/samples/{id}/picture" ? "/v1/samples/1/picture" : path;
  };
  // A request that gets this status; an empty response where there is none here.
  const auto answer = [&](const std::string& method, const std::string& path, const std::string& status) {
    const bool get = method == "get", bank = path == "/v1/bank" || path == "/v1/suggest";
    const std::string real = real_path(path), line = (get ? "GET " : "POST ") + real + " HTTP/1.1\r\n";
    if (status == "200")
      return get ? s.get(real) : s.post(real, bank ? "{\"bank\":{}}" : path == "/v1/explain" ? plain : good);
    if (status == "400") return get ? ask(s.port(), line + "\r\n") : s.post(real, "{");
    if (status == "401") return get ? guarded.get(real) : guarded.post(real, "{}");
    if (status == "403")
      return ask(s.port(), get ? line + "Host: x\r\n\r\n"
                               : request_text(s.port(), "POST", real, "a/b", "", "Origin: http://x\r\n"));
    if (status == "411") return ask(s.port(), line + "Host: localhost:" + std::to_string(s.port()) + "\r\n\r\n");
    if (status == "413")
      return ask(guarded.port(), request_text(guarded.port(), "POST", real, "application/json", std::string(6000, ' '),
                                              "Authorization: Bearer 0123456789abcdef\r\n"));
    if (status == "415") return s.post(real, "x", "text/plain");
    if (path == "/v1/samples/{id}/picture") return s.get("/v1/samples/10/picture");
    if (path != "/v1/samples/sheet") return RawResponse{};
    Metrics metrics;
    Turnstile turnstile(1);
    const Service bare(model_to_serve(), {}, {});
    HttpServer server({.port = 0}, routes_of(bare, nullptr, turnstile, metrics), metrics);
    server.start();
    return ask(server.port(), request_text(server.port(), "GET", real));
  };
  std::size_t checked = 0;
  for (const auto& [path, item] : document["paths"].items())
    for (const auto& [method, operation] : item.items())
      for (const auto& [status, described] : operation["responses"].items()) {
        const std::string key = method + " " + path + " " + status;
        if (status == "default") continue;  // the errors that any request may have, below
        const RawResponse response = answer(method, path, status);
        ASSERT_EQ(std::to_string(response.status), status) << key;
        const Json& response_schema =
            described.contains("$ref") ? document.at(Json::json_pointer(described["$ref"].get<std::string>().substr(1)))
                                       : described;
        const std::string type = response.headers.at("content-type");
        ASSERT_TRUE(response_schema["content"].contains(type)) << key << " has type " << type;
        ++checked;
        if (!type.ends_with("json")) continue;
        EXPECT_EQ(schema_mismatch(response.json(), response_schema["content"][type]["schema"], document, key), "");
      }
  EXPECT_GT(checked, 40u);
  // Every route of the server is documented.
  for (const Route& route : routes_of(s.service, nullptr, s.turnstile, s.metrics)) {
    std::string path = route.path, method = route.method == "GET" ? "get" : "post";
    if (const auto star = path.find('*'); star != std::string::npos) path.replace(star, 1, "{id}");
    ASSERT_TRUE(document["paths"].contains(path) && document["paths"][path].contains(method)) << route.path;
    const Json operation = document["paths"][path][method];
    std::vector<std::string> described;
    for (const Json& parameter : operation.value("parameters", Json::array()))
      if (parameter["in"] == "query") described.push_back(parameter["name"]);
    EXPECT_EQ(described, route.parameters) << route.path;
    // A parameter that the path does not have.
    const std::string real = real_path(path) + "?other=1";
    const auto refused = method == "get" ? s.get(real) : s.post(real, plain);
    EXPECT_EQ(refused.status, 400) << real;
    EXPECT_EQ(refused.json()["field"], "other") << real << refused.body;
    EXPECT_TRUE(operation["responses"].contains("400")) << real;
  }
  // Each operation has an id of its own, and the server tells all of this itself.
  std::set<std::string> ids;
  for (const auto& [path, item] : document["paths"].items())
    for (const auto& [method, operation] : item.items())
      EXPECT_TRUE(ids.insert(operation.at("operationId")).second) << path;
  EXPECT_EQ(guarded.get("/openapi.json").json(), document) << "without a token";
  // The other kinds of body, and what all errors look like.
  for (const char* path : {"/v1/predict", "/v1/explain"}) {
    const Json content = document["paths"][path]["post"]["requestBody"]["content"];
    EXPECT_EQ(content.size(), 6u);
    for (const auto& [type, unused] : content.items()) {
      const bool json = type == "application/json", array = type == "application/x-npy";
      const auto response = s.post(path, json ? plain : array ? npy(1, 48) : image, type);
      EXPECT_EQ(response.status, 200) << path << " " << type << " " << response.body;
    }
  }
  const Json error = document["components"]["schemas"]["Problem"];
  const auto bad_header = ask(s.port(), request_text(s.port(), "GET", "/", "", "", "bad header\r\n"));
  for (const auto& response : {s.get("/x"), s.get("/v1/predict"), bad_header}) {
    EXPECT_GE(response.status, 400);
    EXPECT_EQ(schema_mismatch(response.json(), error, document, "error"), "");
  }
}

TEST(Routes, SeveralPhotographsAreARequest) {
  const std::string one = bmp_file(8, 8), two = bmp_file(9, 8), damaged = bmp_file(1, 1);
  const auto request = [](const std::vector<std::string>& files, const Json& more = Json::object()) {
    Json body = more;
    for (const std::string& file : files) body["photographs"].push_back(base64(file));
    return body.dump();
  };
  const Json alone[]{served().post("/v1/predict", one, "image/bmp").json(),
                     served().post("/v1/predict", two, "image/bmp").json()};
  const Json both = served().post("/v1/predict", request({one, two})).json();
  ASSERT_EQ(both["predictions"].size(), 2u) << both;
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(both["predictions"][i], alone[i]["predictions"][0]);
  EXPECT_EQ(served().post("/v1/explain", request({one})).status, 200);
  EXPECT_EQ(served().post("/v1/explain", request({one, two})).json()["field"], "photographs");
  EXPECT_EQ(served().post("/v1/predict", request({one, damaged})).json()["field"], "photographs[1]");
  const auto refused = [](const std::string& body) {
    const auto response = served().post("/v1/predict", body);
    return std::to_string(response.status) + " " + response.json().value("field", "");
  };
  EXPECT_EQ(refused(request(std::vector<std::string>(65, one))), "413 photographs");
  EXPECT_EQ(refused(request({one}, {{"samples", {0}}})), "400 samples");
  EXPECT_EQ(refused(R"({"photographs":[]})"), "400 photographs");
  for (const char* text : {"a", "ab", "abc", "=", "ab=c", "ab==cd==", "a b=", "Qk3=", "-_-_", "\\u0000AAA"})
    EXPECT_EQ(refused(std::string(R"({"photographs":[")") + text + "\"]}"), "400 photographs[0]") << text;
  auto& s = served();
  Metrics metrics;
  HttpServer bare({.port = 0}, routes_of(s.service, nullptr, s.turnstile, metrics), metrics);
  bare.start();
  EXPECT_EQ(
      ask(bare.port(), request_text(bare.port(), "POST", "/v1/predict", "application/json", request({one}))).status,
      415);
}

TEST(Routes, HostileRequestsGetErrorsAndHarmNothing) {
  auto& s = served();
  const std::size_t d = s.service.limits().dimensions, m = s.service.limits().attributes;
  const std::string host = "Host: localhost:" + std::to_string(s.port()) + "\r\n", row = numbers(d);
  const auto post = [&](const std::string& body, const std::string& type = "application/json",
                        const std::string& target = "/v1/predict") {
    return request_text(s.port(), "POST", target, type, body);
  };
  const std::string good = post("{\"features\":[" + row + "]}");
  ASSERT_EQ(ask(s.port(), good).status, 200);

  std::vector<std::string> requests;
  const auto json = [&](const std::string& body) {
    requests.push_back(post(body));
    requests.push_back(post(body, "application/json", "/v1/explain"));
  };
  const auto posts = [&](const std::vector<std::string>& bodies, const std::string& type) {
    for (const std::string& body : bodies) requests.push_back(post(body, type));
  };
  // JSON that is none, or not what is asked for.
  for (const std::string& body :
       between_bars(R"(null | 1 | [] | "x" | { | } | {} | {] | {"a"} | {"top":} | {"top":1,} | {,} | {"top" 1} |
           {'top':1} | {"top":1}{} | {"top":1} x | {"top":1,"top":2} | {"TOP":1} | {"unknown":1} | {"":1} |
           {"features":null} | {"features":{}} | {"features":[]} | {"features":[[]]} | {"features":[[],[]]} |
           {"features":[1,2]} | {"features":[[1,2]]} | {"features":[["a"]]} | {"features":[null]} |
           {"features":"all"} | {"samples":[]} | {"samples":[10]} | {"samples":[-1]} | {"samples":[0.5]} |
           {"samples":[1e99]} | {"samples":"none"} | {"samples":["../../etc/passwd"]} | {"samples":{}} |
           {"samples":[0] | {"samples":[0 | {"samples":[ | {"samples" | {"sam)"))
    json(body);
  for (const char* body : {"", " ", "\xef\xbb\xbf{\"samples\":[0]}"}) json(body);
  for (const std::string& option :
       between_bars(R"("top":0 | "top":-1 | "top":1001 | "top":1e300 | "top":1e999 | "top":18446744073709551616 |
           "top":"5" | "top":1.5 | "among":"none" | "among":1 | "reject":1 | "reject":"true" | "coverage":0 |
           "coverage":1 | "coverage":-0.5 | "coverage":NaN | "coverage":"0.9" | "attributes":tru | "bank":[] |
           "bank":{"add":{}} | "bank":{"add":[{}]} | "bank":{"add":[{"class":"x"}]} |
           "bank":{"add":[{"class":"","attributes":[1]}]} | "bank":{"remove":["no such class"]} |
           "bank":{"remove":[1]} | "bank":{"change":[]})"))
    json("{\"samples\":[0]," + option + "}");
  for (const char* option : {"\"\\ud800\":1", "\"\\u12\":1", "\"\\x\":1", "\"\xff\":1", "\"\xc0\xaf\":1", "\"a\nb\":1"})
    json("{\"samples\":[0]," + std::string(option) + "}");
  for (const char* value : {"NaN",  "Infinity", "-Infinity", "nan",  "inf", "1e999", "-1e999", "1e39",  "01", "-",
                            "+1",   ".5",       "1.",        "1.e5", "1e",  "1e+",   "0x10",   "1_000", "1,", ",1",
                            "true", "\"1\"",    "null",      "[1]",  "{}",  "--1",   "1e5.5",  "1 2"})
    json("{\"features\":[" + numbers(d, value) + "]}");
  for (const std::string& rows : {numbers(d + 1), numbers(d - 1), row + "," + numbers(3)})
    json("{\"features\":[" + rows + "]}");
  json("{\"features\":[" + row + "],\"samples\":[0]}");
  // What explanations, other bodies and the bank do not take.
  for (const char* option : {"\"top\":1", "\"among\":\"all\"", "\"reject\":false", "\"coverage\":0.9",
                             "\"attributes\":true", "\"return_features\":true"})
    requests.push_back(post("{\"samples\":[0]," + std::string(option) + "}", "application/json", "/v1/explain"));
  requests.push_back(post(npy(1, d), "application/x-npy", "/v1/explain?top=1"));
  requests.push_back(post(bmp_file(8, 8), "image/bmp", "/v1/explain?top=1"));
  for (const char* query : {"x=1", "format=csv", "format=", "precision=int8", "format=table&precision=int8",
                            "format=device&precision=int4", "format=device&precision="})
    requests.push_back(post("{\"bank\":{}}", "application/json", "/v1/bank?"s + query));
  requests.push_back(post("{\"bank\":{\"remove\":[\"no such class\"]}}", "application/json", "/v1/bank?format=device"));
  requests.push_back(post(R"({"bank":{"add":[)" + class_json(std::string(64, 'x'), m) + "]}}", "application/json",
                          "/v1/bank?format=device"));
  requests.push_back(post("{\"samples\":[0]}", "application/json", "/v1/predict?top=1"));
  {
    std::string removed = "\"a\"";
    for (int i = 0; i < 100000; ++i) removed += ",\"a\"";
    json("{\"samples\":[0],\"bank\":{\"remove\":[" + removed + "]}}");
    for (const char* name : {"a\\nb", "\\u0000", "\\u001b[2J", "\x7f"})
      requests.push_back(post(R"({"bank":{"add":[)" + class_json(name, m) + "]}}", "application/json", "/v1/bank"));
  }
  for (const std::size_t depth : {2u, 16u, 17u, 1000u, 100000u})
    for (const char* bracket : {"[", "{\"a\":"}) {
      std::string deep;
      for (std::size_t i = 0; i < depth; ++i) deep += bracket;
      json(deep);
      json("{\"features\":" + deep + "}");
      json("{\"bank\":" + deep + "}");
    }
  {
    std::string many = "{\"features\":[" + row;
    for (int i = 0; i < 100; ++i) many += "," + row;
    json(many + "]}");
    std::string classes;
    for (int i = 0; i < 65; ++i) classes += (i > 0 ? "," : "") + class_json("c" + std::to_string(i), m);
    for (const std::string& added : {classes, class_json(std::string(300, 'x'), m), class_json("x", m + 1)})
      json(R"({"samples":[0],"bank":{"add":[)" + added + "]}}");
  }
  // Arrays that are none.
  const std::string array = npy(2, d);
  for (std::size_t length = 0; length < array.size(); length += length < 140 ? 4 : 50)
    requests.push_back(post(array.substr(0, length), "application/x-npy"));
  posts({npy(1, d + 1), npy(d, 1), npy(101, d), array + "x", "PK\3\4", npy_header_text("<f4", {1ull << 40, 1ull << 40}),
         npy_header_text("<f4", {~0ull, 48}), npy_header_text("<U5", {2, 48}) + std::string(1920, 'x'),
         npy_header_text("|O", {1, 48})},
        "application/x-npy");
  for (const char* query : {"top=0", "top=x", "top=", "among=some", "reject=2", "coverage=2", "bank=x", "bank=%7B",
                            "unknown=1", "bank=%7B%22add%22%3A%5B1%5D%7D", "top=5%00", "%ff=1", "top=1e999"})
    requests.push_back(post(array, "application/x-npy", "/v1/predict?"s + query));
  // Photographs that are none.
  const std::string image = bmp_file(8, 8);
  ASSERT_EQ(ask(s.port(), post(image, "image/bmp")).status, 200);
  for (std::size_t length = 0; length < 54; length += 3) requests.push_back(post(image.substr(0, length), "image/bmp"));
  for (const auto& [w, h] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
           {0, 8}, {8, 0}, {100000, 100000}, {0x7fffffff, 1}, {0xffffffff, 0xffffffff}, {40, 40}, {1001, 1}})
    requests.push_back(post(bmp_file(w, h), "image/bmp"));
  const std::string png_start("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
  for (const std::string& size : {"\xff\xff\xff\xff\xff\xff\xff\xff"s, "\0\0\0\0\0\0\0\1"s, "\0\1\0\0\0\1\0\0"s})
    requests.push_back(post(png_start + size + "\x08\2\0\0\0"s, "image/png"));
  const std::string jpeg("\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xff\3\1\x22\0\2\x11\1\3\x11\1", 21);
  for (std::size_t length = 0; length <= jpeg.size(); ++length)
    requests.push_back(post(jpeg.substr(0, length), "image/jpeg"));
  for (const char* text : {"GIF89a", "<svg/>", "%PDF-1.4", "RIFF\xff\xff\xff\xffWEBPVP8X", "\0\0\0\0"})
    for (const char* type : {"image/jpeg", "image/png", "image/webp", "image/bmp"})
      requests.push_back(post(text, type));
  for (const char* type : {"multipart/form-data", "multipart/form-data; boundary=b", "text/plain", "application/xml",
                           "application/x-www-form-urlencoded", "image/gif", "image/svg+xml", "", "x"})
    requests.push_back(post(image, type));
  // Framing, methods, targets.
  requests.insert(requests.end(),
                  {"GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET / HTTP/1.1\n\n", "\r\n\r\n",
                   std::string("\0\0\0\0\r\n\r\n", 8), "GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"});
  for (const std::string& line :
       between_bars("GET x | GET http://x/ | G@T / | get / | TRACE / | CONNECT / | OPTIONS * | PRI / | "
                    "GET /v1/samples/..%2f..%2fetc/picture | GET /v1/samples/../../etc/passwd | "
                    "GET /v1/samples/99999999999999999999/picture | GET /v1/samples/-1/picture | GET /%00 | "
                    "GET /%2e%2e/%2e%2e/etc/passwd | GET /playground.js/../../x | GET /" +
                    std::string(9000, 'a')))
    requests.push_back(line + " HTTP/1.1\r\n" + host + "\r\n");
  requests.push_back("PUT /v1/predict HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n");
  for (const std::string& more : {host, "A b: c\r\n"s, ": c\r\n"s, "A\r\n"s, " folded: x\r\n"s, "A: b\rc\r\n"s,
                                  "A: \x01\r\n"s, "Content-Length: 5\r\n\r\nabcde"s,
                                  "A: " + std::string(9000, 'b') + "\r\n", "A: " + std::string(70000, 'b') + "\r\n"})
    requests.push_back("GET / HTTP/1.1\r\n" + host + more + "\r\n");
  {
    std::string headers;
    for (int i = 0; i < 200; ++i) headers += "A" + std::to_string(i) + ": b\r\n";
    requests.push_back("GET / HTTP/1.1\r\n" + host + headers + "\r\n");
  }
  const std::string start = "POST /v1/predict HTTP/1.1\r\n" + host + "Content-Type: application/json\r\n";
  requests.push_back(start + "\r\n{}");
  for (std::string lengths :
       between_bars(R"(Content-Length: -1 | Content-Length: +2 | Content-Length: 0x2 | Content-Length: 2 2 |
           Content-Length: 2,2 | Content-Length: 2; Content-Length: 2 | Content-Length: 2; Content-Length: 3 |
           Content-Length: | Content-Length: a | Content-Length: 99999999999999999999999 |
           Content-Length: 18446744073709551615 | Content-Length: 17000000 |
           Content-Length: 2; Transfer-Encoding: chunked | Transfer-Encoding: gzip |
           Transfer-Encoding: chunked, gzip | Transfer-Encoding: identity |
           Transfer-Encoding: chunked; Transfer-Encoding: chunked | Transfer-Encoding: xchunked |
           Content-Length: 2; Content-Encoding: gzip | Content-Length: 2; Expect: magic)")) {
    if (const auto two = lengths.find("; "); two != std::string::npos) lengths.replace(two, 2, "\r\n");
    requests.push_back(start + lengths + "\r\n\r\n{}");
  }
  for (const std::string& chunks :
       {"x\r\n{}\r\n0\r\n\r\n"s, "-2\r\n{}\r\n0\r\n\r\n"s, "2\r\n{}0\r\n\r\n"s, "ffffffffffffffff\r\n{}"s,
        "fffffffffffffffff\r\n{}"s, "2\r\n{}\r\n"s, "\r\n\r\n"s, "2"s, "5\r\n{}\r\n0\r\n\r\n"s, "1000001\r\n{}"s})
    requests.push_back(start + "Transfer-Encoding: chunked\r\n\r\n" + chunks);
  // Random changes of a good request.
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    std::string text = "POST /v1/predict HTTP/1.1\r\n" + host +
                       "Content-Type: application/json\r\nContent-Length: 16\r\n\r\n{\"samples\":[99]}";
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random());
    requests.push_back(text);
  }

  EXPECT_GE(requests.size(), 500u);
  std::map<int, int> statuses;
  [[maybe_unused]] std::size_t settled = 0, after_half = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    RawClient client(s.port());
    client.send(requests[i]);
    client.end();  // whoever waits for more gets none
    const auto response = client.receive();
    ++statuses[response.status];
    const std::string shown = requests[i].substr(0, 300);
    EXPECT_TRUE((response.status >= 400 && response.status < 500) || response.status == 505 || response.status == 0)
        << response.status << " for " << shown;
    EXPECT_NE(response.problem().empty(), response.status != 0) << response.body << " for " << shown;
    if (i == requests.size() / 2) settled = resident_memory();
    if (i % 50 == 0) {
      ASSERT_EQ(ask(s.port(), good).status, 200) << "after " << shown;
    }
  }
  after_half = resident_memory();
  EXPECT_LE(statuses[0], 12) << "a connection is closed without a word only where no head came";
  EXPECT_EQ(ask(s.port(), good).status, 200);
#ifndef PARSNETS_SANITIZED
  EXPECT_LT(after_half, settled + (16u << 20));
#endif
}

TEST(Turnstile, LetsNoMoreInThanThereArePlaces) {
  Turnstile turnstile(3);
  std::atomic<int> inside{0}, most{0}, served{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto turn = turnstile.enter(Clock::now() + 1h);
        const int now = ++inside;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        --inside;
        ++served;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  EXPECT_EQ(served, 2400);
}

TEST(Turnstile, WhoseTurnDoesNotComeInTimeIsToldSo) {
  Turnstile turnstile(1);
  {
    const auto turn = turnstile.enter(Clock::now() + 1h);
    EXPECT_THROW(turnstile.enter(Clock::now() + 1ms), HttpError);
  }
  turnstile.enter(Clock::now() + 1h);  // the place is free again, and was given to nobody
}

TEST(Photographs, LimitsAreCheckedBeforeAnythingIsDecoded) {
  const auto photographs = mean_colours(48);
  const auto features_of = [&](const std::string& file) {
    return photographs->features_of(std::as_bytes(std::span(file)), Clock::now() + 1h).cols();
  };
  EXPECT_EQ(features_of(bmp_file(10, 10)), 48u);
  EXPECT_THROW(features_of(bmp_file(100, 100)), Error);
  EXPECT_THROW(features_of("text"), Error);
  EXPECT_THROW(features_of(bmp_file(1, 1)), Error) << "the backbone finds it damaged";
}

TEST(Photographs, WhoseTurnDoesNotComeInTimeIsToldSo) {
  auto backbone = std::make_unique<Waiting>();
  Waiting& waiting = *backbone;
  const Photographs photographs(std::move(backbone), mean_colours(4)->source(), {}, 1);
  const std::string file = bmp_file(10, 10);
  std::thread first([&] { photographs.features_of(std::as_bytes(std::span(file)), Clock::now() + 1h); });
  waiting.entered.wait();
  EXPECT_THROW(photographs.features_of(std::as_bytes(std::span(file)), Clock::now() + 1ms), HttpError);
  waiting.leave.count_down();
  first.join();
}
