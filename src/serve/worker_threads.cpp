#include "serve/worker_threads.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace parsnets {

WorkerThreads::WorkerThreads(std::size_t most, std::size_t most_of_address, std::function<void(OpenConnection&)> serve,
                             Metrics& metrics)
    : serve_(std::move(serve)), most_(most), most_of_address_(most_of_address), metrics_(metrics) {
  threads_.reserve(most_);
  idle_.reserve(most_ + 1);
  partial_.reserve(most_ + 1);
}

bool WorkerThreads::take(int socket, std::string address) {
  {
    std::lock_guard lock(mutex_);
    const auto own = open_.find(address);
    const bool crowded = own != open_.end() && own->second >= most_of_address_;
    if ((crowded || all_open_ == most_) && !make_room(crowded ? &address : nullptr)) return false;
    waiting_.push_back({socket, address});
    try {
      if (all_open_ + 1 > threads_.size()) threads_.emplace_back([this] { work(); });
      ++open_[std::move(address)];
    } catch (const std::exception&) {
      waiting_.pop_back();
      return false;
    }
    ++all_open_;
  }
  metrics_.add_connections(1);
  wake_.notify_one();
  return true;
}

/// Ends a connection; its thread is free at once. `address`: one of these; null: of any. False: there is none to end.
/// The caller holds the mutex.
bool WorkerThreads::make_room(const std::string* address) {
  return end_first(idle_, address, true) || end_first(partial_, address, false);
}

bool WorkerThreads::end_first(std::vector<const OpenConnection*>& list, const std::string* address,
                              bool without_bytes) {
  const auto longest = std::ranges::find_if(list, [&](const OpenConnection* open) {
    char byte = 0;
    return (address == nullptr || open->address == *address) &&
           (!without_bytes || ::recv(open->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0);  // else a request has come
  });
  if (longest == list.end()) return false;
  ::shutdown((*longest)->socket, SHUT_RDWR);
  forget((*longest)->address);
  list.erase(longest);
  return true;
}

/// A connection of this address is no longer open. The caller holds the mutex.
void WorkerThreads::forget(const std::string& address) {
  --all_open_;
  const auto own = open_.find(address);
  if (--own->second == 0) open_.erase(own);
}

bool WorkerThreads::wait_for_request(OpenConnection& open, Connection& connection, std::chrono::milliseconds most) {
  {
    std::lock_guard lock(mutex_);
    idle_.push_back(&open);
  }
  const bool came = connection.wait_for_request(most);
  std::lock_guard lock(mutex_);
  open.replaced = std::erase(idle_, &open) == 0;
  return came && !open.replaced;
}

std::string WorkerThreads::read_head(OpenConnection& open, Connection& connection, std::size_t most) {
  bool listed = false;
  const auto unlist = [&] {
    if (!listed) return;
    std::lock_guard lock(mutex_);
    open.replaced = std::erase(partial_, &open) == 0;
  };
  try {
    std::string head = connection.read_head(most, [&] {
      std::lock_guard lock(mutex_);
      partial_.push_back(&open);
      listed = true;
    });
    unlist();
    return open.replaced ? "" : head;
  } catch (...) {
    unlist();
    throw;
  }
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
    if (!open.replaced) forget(open.address);
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
