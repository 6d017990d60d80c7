// The HTTP server under load: clients on the same machine send batches over connections that stay open.

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include "formats/npy.hpp"
#include "parsnets/error.hpp"
#include "predict_bounds.hpp"
#include "problem.hpp"

extern char** environ;

namespace bench {

using namespace parsnets;

namespace {

constexpr std::size_t kBatch = 64;

/// `parsnets serve` on a port of its own; ends with the object.
class Server {
 public:
  Server(const Settings& settings, const std::string& model) {
    std::vector<std::string> words{settings.program, "serve", "--model", model, "--port", "0", "--json"};
    std::vector<char*> raw;
    for (auto& word : words) raw.push_back(word.data());
    raw.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(ErrorCode::failure, "no pipe can be made");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    const int failed = ::posix_spawn(&child_, words[0].c_str(), &actions, nullptr, raw.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::string line;
    char byte = 0;
    while (failed == 0 && ::read(ends[0], &byte, 1) == 1 && byte != '\n') line += byte;
    ::close(ends[0]);
    const json said = json::parse(line, nullptr, false);
    if (!said.is_object()) throw Error(ErrorCode::failure, "'parsnets serve' does not start: " + line);
    port_ = said["port"];
  }
  ~Server() {
    ::kill(child_, SIGTERM);
    ::waitpid(child_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  int port() const { return port_; }
  /// Processor time so far.
  double cpu_seconds() const {
    std::ifstream stat(fmt::format("/proc/{}/stat", child_));
    std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
    std::istringstream fields(text.substr(text.rfind(')') + 2));  // the name before may hold anything
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }

 private:
  pid_t child_ = 0;
  int port_ = 0;
};

class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), buffer_(1 << 20) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int yes = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw Error(ErrorCode::failure, "the server cannot be reached");
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// The body of the answer; empty unless its status is 200.
  std::string_view ask(std::string_view request) {
    while (!request.empty()) {
      const ssize_t sent = ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL);
      if (sent <= 0) return {};
      request.remove_prefix(static_cast<std::size_t>(sent));
    }
    std::size_t filled = 0, body = 0, end = 0;
    while (end == 0 || filled < end) {
      if (filled == buffer_.size()) buffer_.resize(2 * filled);
      const ssize_t got = ::recv(socket_, buffer_.data() + filled, buffer_.size() - filled, 0);
      if (got <= 0) return {};
      filled += static_cast<std::size_t>(got);
      const std::string_view text(buffer_.data(), filled);
      if (end > 0 || (body = text.find("\r\n\r\n")) == std::string_view::npos) continue;
      body += 4;
      const auto length = text.find("Content-Length: ");
      end = body + std::strtoul(text.data() + length + 16, nullptr, 10);
    }
    const std::string_view text(buffer_.data(), end);
    return text.starts_with("HTTP/1.1 200") ? text.substr(body) : std::string_view();
  }

 private:
  int socket_;
  std::vector<char> buffer_;
};

std::string request_of(const std::string& target, const std::string& type, const std::string& body, int port) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}",
                     target, port, type, body.size(), body);
}

double resident_bytes(int port) {
  Client client(port);
  const std::string text(client.ask(fmt::format("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", port)));
  const auto at = text.find("\nparsnets_resident_bytes ");
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + 25, nullptr);
}

/// The samples as JSON with seven digits, or as an array.
std::string body_of(MatrixView<const float> x, bool array) {
  if (array) {
    std::string file = npy_header_text("<f4", {x.rows(), x.cols()});
    return file.append(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float));
  }
  std::string text = "{\"features\":[";
  for (std::size_t r = 0; r < x.rows(); ++r) {
    text += r > 0 ? ",[" : "[";
    for (const float v : x.row(r)) text += fmt::format("{:.7g},", v);
    text.back() = ']';
  }
  return text + "]}";
}

json load_of(const Settings& settings, const std::string& name, const Model& model, const std::string& file, bool array,
             std::size_t batch) {
  const Server server(settings, file);
  const Matrix<float> x = random_features(batch, model.dimensions);
  const std::string body = body_of(x.view(), array);
  const std::string request =
      request_of("/v1/predict", array ? "application/x-npy" : "application/json", body, server.port());
  const double seconds = settings.quick ? 5 : settings.serve_seconds;
  std::atomic<bool> stop{false};
  std::atomic<std::size_t> errors{0}, answer_bytes{0};
  std::vector<std::vector<double>> taken(static_cast<std::size_t>(settings.serve_clients));
  std::vector<std::thread> clients;
  double start_bytes = 0, end_bytes = 0;
  const double before = cpu_seconds(), server_before = server.cpu_seconds();
  for (auto& own : taken)
    clients.emplace_back([&] {
      Client client(server.port());
      while (!stop) {
        std::size_t bytes = 0;
        own.push_back(seconds_of([&] { bytes = client.ask(request).size(); }));
        if (bytes == 0) {
          ++errors;
          break;
        }
        answer_bytes = bytes;
      }
    });
  const auto nap = [](double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); };
  const double wall = seconds_of([&] {
    nap(seconds / 5);
    start_bytes = resident_bytes(server.port());  // all connections have been used
    nap(seconds * 4 / 5);
    stop = true;
    for (auto& client : clients) client.join();
  });
  const double client_seconds = cpu_seconds() - before, server_seconds = server.cpu_seconds() - server_before;
  end_bytes = resident_bytes(server.port());
  std::vector<double> all;
  for (const auto& own : taken) all.insert(all.end(), own.begin(), own.end());
  std::ranges::sort(all);
  const auto quantile = [&](double q) {
    return all[static_cast<std::size_t>(q * static_cast<double>(all.size() - 1))];
  };
  const auto predictions = static_cast<double>(all.size() * batch);
  const double rate = predictions / wall, on_two = 2 * predictions / (client_seconds + server_seconds);
  const Shape shape = shape_of(model);
  fmt::print(
      "{:<30}{:>8.0f} predictions/s ({:.0f} if two cores were free), p50 {:.2f} ms, p99 {:.2f} ms ({:.1f} times), {} "
      "errors, memory {:.1f} to {:.1f} "
      "MB\n",
      name, rate, on_two, 1e3 * quantile(0.5), 1e3 * quantile(0.99), quantile(0.99) / quantile(0.5), errors.load(),
      start_bytes / 1e6, end_bytes / 1e6);
  return {{"name", name},
          {"clients", settings.serve_clients},
          {"seconds", wall},
          {"batch", batch},
          {"requests", all.size()},
          {"errors", errors.load()},
          {"predictions_per_second", rate},
          {"predictions_per_second_of_two_cores", on_two},
          {"p50_seconds", quantile(0.5)},
          {"p99_seconds", quantile(0.99)},
          {"resident_start", start_bytes},
          {"resident_end", end_bytes},
          {"client_cpu_seconds", client_seconds},
          {"server_cpu_seconds", server_seconds},
          {"request_bytes", request.size()},
          {"answer_bytes", answer_bytes.load()},
          {"flops_per_prediction", flops_of(shape)},
          {"flops_per_second", rate * flops_of(shape)},
          {"body_bytes_per_second", rate / static_cast<double>(batch) * static_cast<double>(body.size())}};
}

}  // namespace

json measure_serving(const Settings& settings) {
  const Workspace work;
  const std::string demo = work / "demo.safetensors", large = work / "cub-sized.safetensors";
  const Run trained = run_program({settings.program, "train", "--data", settings.sources / "data" / "demo", "--out",
                                   demo, "--false-accept", "5%", "--quiet"},
                                  work / "log");
  if (trained.exit_code != 0) throw Error(ErrorCode::failure, "the demo model could not be trained");
  const Model small = load_model(demo), cub_sized = random_model(default_shape());
  save_model(cub_sized, large);
  json rows = json::array();
  rows.push_back(load_of(settings, "demo, JSON, one sample", small, demo, false, 1));
  rows.push_back(load_of(settings, "demo, JSON, batches of 64", small, demo, false, kBatch));
  rows.push_back(load_of(settings, "CUB-sized, NPY, batches of 64", cub_sized, large, true, kBatch));
  return {{"runs", rows}};
}

}  // namespace bench
