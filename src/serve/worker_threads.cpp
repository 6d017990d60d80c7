#include "serve/worker_threads.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <exception>

namespace parsnets {

WorkerThreads::WorkerThreads(std::size_t most, std::function<void(OpenConnection&)> serve, Metrics& metrics)
    : serve_(std::move(serve)), most_(most), metrics_(metrics) {
  threads_.reserve(most_);
  idle_.reserve(most_ + 1);
}

WorkerThreads::~WorkerThreads() { stop(); }

bool WorkerThreads::take(int socket, std::string address) {
  {
    std::lock_guard lock(mutex_);
    if (open_ == most_ && !end_an_idle_connection()) return false;
    waiting_.push_back({socket, std::move(address)});
    try {
      if (open_ + 1 > threads_.size()) threads_.emplace_back([this] { work(); });
    } catch (const std::exception&) {
      waiting_.pop_back();
      return false;
    }
    ++open_;
  }
  metrics_.add_connections(1);
  wake_.notify_one();
  return true;
}

/// Of those that wait for a request, the one that has waited longest; its thread is free at once. False: there is none.
/// The caller holds the mutex.
bool WorkerThreads::end_an_idle_connection() {
  const auto longest = std::ranges::find_if(idle_, [](int socket) {
    char byte = 0;
    return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;  // else a request has come
  });
  if (longest == idle_.end()) return false;
  ::shutdown(*longest, SHUT_RDWR);
  idle_.erase(longest);
  --open_;
  return true;
}

bool WorkerThreads::wait_for_request(OpenConnection& open, Connection& connection, std::chrono::milliseconds most) {
  {
    std::lock_guard lock(mutex_);
    idle_.push_back(open.socket);
  }
  const bool came = connection.wait_for_request(most);
  std::lock_guard lock(mutex_);
  open.replaced = std::erase(idle_, open.socket) == 0;
  return came && !open.replaced;
}

void WorkerThreads::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return !waiting_.empty() || stopping_; });
    if (waiting_.empty()) return;
    OpenConnection open = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    serve_(open);
    metrics_.add_connections(-1);
    lock.lock();
    if (!open.replaced) --open_;
  }
}

void WorkerThreads::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace parsnets
