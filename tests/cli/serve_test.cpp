// parsnets serve as a program: what it refuses, how it ends, and the commands of docs/serve.md.

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <regex>
#include <set>

#include "backbones/onnx_bytes.hpp"
#include "base/file.hpp"
#include "cli/run_cli.hpp"
#include "environment_variable.hpp"
#include "images/bmp_photos.hpp"
#include "parsnets_rt.h"
#include "serve/raw_client.hpp"

namespace {

using namespace parsnets;
using namespace parsnets::test;

const std::string& served_model() { return model_of_demo({"--false-accept", "5%"}); }

/// The tool as a server.
class ServerProcess {
 public:
  explicit ServerProcess(const Words& arguments) : process_(Words{"serve", "--port", "0"} + arguments, STDOUT_FILENO) {
    process_.wait_for_line("");
    std::smatch found;
    if (!std::regex_search(said(), found, std::regex("http://127\\.0\\.0\\.1:(\\d+)")))
      throw std::runtime_error("no port in: " + said());
    port_ = std::stoi(found[1]);
  }
  ~ServerProcess() {
    if (!finished_) finish();
  }
  int port() const { return port_; }
  RawResponse get(const std::string& target) const { return ask(port_, request_text(port_, "GET", target)); }
  RawResponse post(const std::string& target, const nlohmann::json& body) const {
    return ask(port_, request_text(port_, "POST", target, "application/json", body.dump()));
  }
  /// Until the server has taken up another request than the one that asks.
  void wait_for_request() const {
    while (get("/metrics").body.find("parsnets_connections 2") == std::string::npos) {
    }
  }
  /// Until nobody is let in any more.
  void wait_until_closed() const {
    while (get("/healthz").status != 0) {  // one at a time: many would take the place of those that wait
    }
  }
  const std::string& said() const { return process_.line(); }  ///< its first line
  void interrupt() {
    process_.send(SIGTERM);
    interrupted_ = true;
  }
  int finish() {
    if (!interrupted_) interrupt();  // a second signal would end it at once
    finished_ = true;
    return process_.finish().exit_code;
  }

 private:
  EnvironmentVariable no_token_{"PARSNETS_TOKEN", std::nullopt};
  CliProcess process_;
  bool interrupted_ = false, finished_ = false;
  int port_ = 0;
};

}  // namespace

using Serve = FolderTest;

TEST_F(Serve, RemoteAddressesNeedAToken) {
  const EnvironmentVariable no_token("PARSNETS_TOKEN", std::nullopt);
  std::ofstream(dir / "short") << "abc\n";
  const std::string model = served_model();
  for (const Words& more : std::vector<Words>{{"--host", "0.0.0.0"},
                                              {"--host", "no such host"},
                                              {"--images", "."},
                                              {"--force"},
                                              {"--port", "65536"},
                                              {"--max-pixels", "0"}})
    run_error(Words{"serve", "--model", model, "--port", "0"} + more, 2);
  run_error({"serve"}, 2);
  const auto weak = run_error({"serve", "--model", model, "--token-file", dir.file("short")}, 3);
  EXPECT_TRUE(has_all(weak.err, {"short: token: expected at least 16", "found 3 characters"}));
  for (const char* odd : {"0123456789abcde+", "0123456789abcde#", "0123456789 abcdef", "0123456789abcdé"}) {
    std::ofstream(dir / "odd") << odd << "\n";
    run_error({"serve", "--model", model, "--token-file", dir.file("odd")}, 3, "found other characters");
  }
  run_error({"serve", "--model", model, "--data", kDemo, "--images", dir.file("none")}, 3);
  run_error({"serve", "--model", "missing.safetensors"}, 3);
}

TEST_F(Serve, FinishesARequestThatHasBegunAndEndsWithZero) {
  ServerProcess server({"--model", served_model(), "--data", kDemo, "--samples", "20", "--json"});
  EXPECT_EQ(nlohmann::json::parse(server.said())["port"], server.port());
  EXPECT_EQ(server.get("/v1/samples").json()["samples"].size(), 20u);
  const std::string whole =
      request_text(server.port(), "POST", "/v1/predict", "application/json", "{\"samples\":\"all\"}");
  RawClient client(server.port());
  client.send(whole.substr(0, whole.size() - 5));
  server.wait_for_request();
  server.interrupt();
  server.wait_until_closed();
  client.send(whole.substr(whole.size() - 5));
  const auto response = client.receive();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.json()["predictions"].size(), 20u);
  EXPECT_EQ(server.finish(), 0);
}

TEST_F(Serve, GoesOnWithItsModelWhenTheFileIsOverwritten) {
  const std::string model = dir.file("m.safetensors"), bytes = read_text_file(served_model());
  std::ofstream(model) << bytes;
  ServerProcess server({"--model", model, "--data", kDemo});
  const auto predicted = [&] { return server.post("/v1/predict", {{"samples", "all"}}).body; };
  const std::string before = predicted();
  ASSERT_TRUE(nlohmann::json::parse(before).contains("predictions")) << before;
  std::ofstream(model) << std::string(bytes.size(), 'x');  // in place, as cp does
  EXPECT_EQ(predicted(), before);
  std::ofstream(model) << "cut short";
  EXPECT_EQ(predicted(), before);
  EXPECT_EQ(server.finish(), 0);
}

TEST_F(Serve, SaysThatATokenIsNeededAndNotTheToken) {
  const std::string file = dir.file("token"), token = "0123456789._~-AZaz";
  std::ofstream(file) << token << "\n";
  CliProcess process({"serve", "--port", "0", "--model", served_model(), "--token-file", file}, STDOUT_FILENO);
  ASSERT_TRUE(process.wait_for_line("serving "));
  ASSERT_TRUE(process.wait_for_line("requests need the token in " + file + "; open the page as http://127.0.0.1:"));
  EXPECT_TRUE(process.line().ends_with("/#token=TOKEN\n")) << process.line();
  process.send(SIGTERM);
  EXPECT_FALSE(has(expect_ok(process.finish()).out, token));
}

TEST_F(Serve, SaysThatItFinishesRequests) {
  const std::string model = served_model();
  testing::internal::CaptureStderr();  // the server inherits it
  ServerProcess server({"--model", model});
  EXPECT_EQ(server.finish(), 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "finishing the requests that have begun; interrupt again to end at once\n");
}

TEST_F(Serve, ASecondSignalEndsItAtOnce) {
  ServerProcess server({"--model", served_model()});
  RawClient client(server.port());
  client.send("POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
  server.wait_for_request();
  server.interrupt();
  server.wait_until_closed();
  server.interrupt();
  EXPECT_EQ(server.finish(), 130);
}

TEST_F(Serve, TheMemoryLimitCountsThePhotographsThatAreDecoded) {
  const std::string network = dir.file("pixels.onnx");
  write_text_file(network, onnx_of_pixels(8, 8));
  write_text_file(dir / "pixels.json", R"({"width": 8, "height": 8})");
  const auto serve = [&](Words more) {  // the host, which comes last, ends it
    return run_cli(Words{"serve", "--model", served_model(), "--host", "no such host", "--memory-limit", "500MB",
                         "--threads", "1"} +
                   more);
  };
  EXPECT_TRUE(has(serve({}).err, "no such host"));
  const auto refused = serve({"--backbone", network, "--force"});
  if (refused.err.find("need the module") != std::string::npos) GTEST_SKIP() << refused.err;
  EXPECT_TRUE(has(refused.err, "--max-pixels"));
  EXPECT_TRUE(has(serve({"--backbone", network, "--force", "--max-pixels", "1000000"}).err, "no such host"));
}

TEST_F(Serve, ATableOfTheServerAddsItsNewClassesToTheModel) {
  ServerProcess server({"--model", served_model()});
  const auto classes = server.get("/v1/classes").json();
  const nlohmann::json bank{{"add", {{{"class", "new, one"}, {"attributes", classes["classes"][0]["attributes"]}}}}};
  const auto table = server.post("/v1/bank", {{"bank", bank}});
  ASSERT_EQ(table.status, 200) << table.body;
  const std::string file = dir.file("classes.csv"), model = dir.file("m.safetensors");
  write_text_file(file, table.body);
  write_text_file(model, read_text_file(served_model()));
  run_ok({"classes", "add", "--model", model, "--attributes", file, "--classes", "\"new, one\""});
}

TEST_F(Serve, ABankOfTheServerFitsTheDeviceFileAndPredictsAsTheServerDoes) {
  ServerProcess server({"--model", served_model(), "--data", kDemo, "--samples", "100"});
  const auto classes = server.get("/v1/classes").json()["classes"];
  // A new class between two others, one of which it replaces; another one is removed.
  std::vector<float> between = classes[0]["attributes"];
  for (std::size_t a = 0; a < between.size(); ++a)
    between[a] = (between[a] + classes[1]["attributes"][a].get<float>()) / 2;
  const nlohmann::json bank{{"remove", {classes[0]["class"], classes[3]["class"]}},
                            {"add",
                             {{{"class", "between"}, {"attributes", between}},
                              {{"class", classes[0]["class"]}, {"attributes", classes[0]["attributes"]}}}}};
  const auto answer =
      server.post("/v1/predict", {{"samples", "all"}, {"top", 1}, {"bank", bank}, {"return_features", true}}).json();
  ASSERT_EQ(answer["features"].size(), 100u);
  std::set<std::string> answers;
  for (const char* precision : {"float32", "int8"}) {
    const bool exact = precision == std::string("float32");
    const std::string file = dir.file(precision);
    run_ok({"export", "--model", served_model(), "--out", file, "--precision", precision});
    const std::string device = read_text_file(file);
    const auto saved =
        server.post(std::string("/v1/bank?format=device") + (exact ? "&precision=float32" : ""), {{"bank", bank}});
    ASSERT_EQ(saved.status, 200) << saved.body;
    EXPECT_EQ(saved.headers.at("content-type"), "application/octet-stream");
    EXPECT_TRUE(has(saved.headers.at("content-disposition"), "classes.bank"));

    std::vector<std::uint32_t> words(device.size() / 4 + 1), memory, work;
    std::memcpy(words.data(), device.data(), device.size());
    pnrt_model model;
    pnrt_bank loaded;
    ASSERT_EQ(pnrt_open(&model, words.data(), device.size()), PNRT_OK);
    memory.resize(pnrt_bank_bytes(&model, 2) / 4 + 1);
    ASSERT_EQ(pnrt_bank_init(&loaded, &model, 2, memory.data(), memory.size() * 4), PNRT_OK);
    ASSERT_EQ(pnrt_bank_load(&loaded, saved.body.data(), saved.body.size()), PNRT_OK);
    work.resize(pnrt_work_bytes(&model, &loaded) / 4 + 1);
    std::size_t same = 0;
    for (std::size_t i = 0; i < 100; ++i) {
      const std::vector<float> features = answer["features"][i];
      pnrt_match best;
      pnrt_verdict verdict;
      ASSERT_EQ(
          pnrt_classify(&model, &loaded, features.data(), nullptr, &best, 1, &verdict, work.data(), work.size() * 4),
          PNRT_OK);
      const auto& expected = answer["predictions"][i]["classes"][0];
      const std::string name = pnrt_class_name(&model, &loaded, best.index);
      same += name == expected["class"] ? 1 : 0;
      answers.insert(name);
      if (exact) {
        EXPECT_EQ(name, expected["class"]) << i;
        EXPECT_NEAR(best.score, expected["score"].get<float>(), 1e-4) << i;
      }
    }
    EXPECT_GE(same, 95u) << precision;
    EXPECT_NE(pnrt_bank_load(&loaded, saved.body.data(), saved.body.size() - 1), PNRT_OK);
  }
  EXPECT_TRUE(answers.contains("between"));
  EXPECT_GE(answers.size(), 3u);
}

TEST_F(Serve, TheCommandsOfTheGuideWork) {
  if (std::system("command -v curl > /dev/null") != 0) GTEST_SKIP() << "curl is not installed";
  const std::string network = dir.file("pixels.onnx"), photo = dir.file("photo.jpg");
  write_text_file(network, onnx_of_pixels(8, 8));
  write_text_file(dir / "pixels.json", R"({"width": 8, "height": 8})");
  write_text_file(photo, bmp_photo(8, 8, 1));
  const Words arguments{"--model", served_model(), "--data", kDemo}, backbone{"--backbone", network, "--force"};
  const Words tried = Words{"serve", "--model", served_model(), "--host", "no such host"} + backbone;
  const bool photographs = run_cli(tried).err.find("need the module") == std::string::npos;
  ServerProcess server(photographs ? arguments + backbone : arguments);
  std::ifstream guide(std::string(PARSNETS_SOURCE_DIR) + "/docs/serve.md");
  std::size_t commands = 0;
  for (std::string line; std::getline(guide, line);) {
    if (!line.starts_with("curl ")) continue;
    for (std::string more; (line.ends_with('\\') || std::ranges::count(line, '\'') % 2 == 1) && getline(guide, more);)
      line += "\n" + more;
    ++commands;
    if (!photographs && line.find("photo.jpg") != std::string::npos) continue;
    line = std::regex_replace(line, std::regex("photo\\.jpg"), photo);
    line = std::regex_replace(line, std::regex(":8080"), ":" + std::to_string(server.port()));
    line = std::regex_replace(line, std::regex(" -o \\S+"), "");
    line = "cd " + shell_quoted(PARSNETS_SOURCE_DIR) + " && " + line +
           " --noproxy '*' --silent --fail-with-body --max-time 60 > " + shell_quoted(dir / "answer");
    EXPECT_EQ(std::system(line.c_str()), 0) << line << "\n" << read_text_file(dir / "answer");
  }
  EXPECT_EQ(commands, 11u);
}
