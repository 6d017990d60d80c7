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
  replaceable_.reserve(most_ + 1);
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
  const auto can_end = [&](const Waiting& one) {
    char byte = 0;
    return (address == nullptr || one.open->address == *address) &&
           (one.wait != Wait::request ||
            ::recv(one.open->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0);  // else a request has come
  };
  auto first = replaceable_.end();
  for (auto one = replaceable_.begin(); one != replaceable_.end(); ++one)
    if ((first == replaceable_.end() || one->wait < first->wait) && can_end(*one)) first = one;
  if (first == replaceable_.end()) return false;
  ::shutdown(first->open->socket, SHUT_RDWR);
  forget(first->open->address);
  replaceable_.erase(first);
  return true;
}

/// A connection of this address is no longer open. The caller holds the mutex.
void WorkerThreads::forget(const std::string& address) {
  --all_open_;
  const auto own = open_.find(address);
  if (--own->second == 0) open_.erase(own);
}

void WorkerThreads::waits(OpenConnection& open, Wait wait) {
  const std::lock_guard lock(mutex_);
  if (open.replaced) return;
  if (wait != Wait::nothing)
    replaceable_.push_back({&open, wait});
  else
    open.replaced = std::erase_if(replaceable_, [&](const Waiting& one) { return one.open == &open; }) == 0;
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
