#pragma once
// Threads that serve connections, one each.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
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
  bool replaced = false;  ///< ended in favour of another connection while it waited for its client
};

/// Threads are started as connections come, and kept for later ones. A connection that finds no room replaces one that
/// waits for its client: to hang up after a refusal, else to ask, else to send or to read the rest; of these, the one
/// that has waited longest. Thread-safe.
class WorkerThreads {
 public:
  /// `serve` serves a connection to its end and closes the socket. `most`: connections at a time; `most_of_address`: of
  /// one address. `metrics` must outlive it.
  WorkerThreads(std::size_t most, std::size_t most_of_address, std::function<void(OpenConnection&)> serve,
                Metrics& metrics);
  ~WorkerThreads() { stop(); }
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// Serves the connection in a thread, in place of another one if there are too many: if they are too many of its
  /// address, one of these. False, and the socket is the caller's: all are busy, or there can be no further thread.
  bool take(int socket, std::string address);
  /// Called by `serve` around each wait for the client, during which the connection may be replaced.
  void waits(OpenConnection& open, Wait wait);
  /// Waits until all connections have been served; no more are to be taken.
  void stop();

 private:
  void work();
  bool make_room(const std::string* address);
  struct Waiting {
    const OpenConnection* open;
    Wait wait;
  };
  void forget(const std::string& address);

  const std::function<void(OpenConnection&)> serve_;
  const std::size_t most_, most_of_address_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::deque<OpenConnection> waiting_;
  std::vector<std::thread> threads_;
  std::vector<Waiting> replaceable_;         ///< longest first
  std::map<std::string, std::size_t> open_;  ///< connections of each address, waiting ones included
  std::size_t all_open_ = 0;
};

}  // namespace parsnets
