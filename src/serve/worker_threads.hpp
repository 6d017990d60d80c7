#pragma once
// Threads that serve connections, one each.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/connection.hpp"
#include "serve/metrics.hpp"

namespace parsnets {

struct OpenConnection {
  int socket = -1;
  std::string address;    ///< bytes of the client's address
  bool replaced = false;  ///< ended in favour of another connection while it waited for a request
};

/// Threads are started as connections come, and kept for later ones. Thread-safe.
class WorkerThreads {
 public:
  /// `serve` serves a connection to its end and closes the socket. `most`: connections at a time. `metrics` must
  /// outlive it.
  WorkerThreads(std::size_t most, std::function<void(OpenConnection&)> serve, Metrics& metrics);
  /// Stops.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// Serves the connection in a thread, in place of an idle one if there are too many. False, and the socket is the
  /// caller's: all connections are busy, or there can be no further thread.
  bool take(int socket, std::string address);
  /// Called by `serve`: whether a request comes within `most`. While it waits, the connection may be replaced.
  bool wait_for_request(OpenConnection& open, Connection& connection, std::chrono::milliseconds most);
  /// Waits until all connections have been served; no more are to be taken.
  void stop();

 private:
  void work();
  bool end_an_idle_connection();

  const std::function<void(OpenConnection&)> serve_;
  const std::size_t most_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::deque<OpenConnection> waiting_;
  std::vector<std::thread> threads_;
  std::vector<int> idle_;  ///< sockets of connections that wait for a request, the longest first
  std::size_t open_ = 0;   ///< connections, waiting ones included
};

}  // namespace parsnets
