#pragma once
// A group of processes that are threads: collective calls for tests, without anything to install.

#include <algorithm>
#include <barrier>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/processes.hpp"

namespace parsnets {

struct SharedPlaces {
  explicit SharedPlaces(std::size_t size) : barrier(static_cast<std::ptrdiff_t>(size)), places(size), texts(size) {}
  std::barrier<> barrier;
  std::vector<const void*> places;
  std::vector<std::string> texts;
};
class ThreadProcess final : public Processes {
 public:
  ThreadProcess(SharedPlaces& shared, std::size_t rank) : shared_(shared), rank_(rank) {}
  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return shared_.places.size(); }
  void sum(std::span<double> values) override { add(values); }
  void sum(std::span<float> values) override { add(values); }
  void sum(std::span<std::uint64_t> values) override { add(values); }
  void broadcast(std::string& text, std::size_t root) override {
    count(size() > 1 ? text.size() : 0);
    shared_.texts[rank_] = text;
    shared_.barrier.arrive_and_wait();
    text = shared_.texts[root];
    shared_.barrier.arrive_and_wait();
  }
  std::vector<std::string> gather(const std::string& text) override {
    count(size() > 1 ? text.size() : 0);
    shared_.texts[rank_] = text;
    shared_.barrier.arrive_and_wait();
    std::vector<std::string> all;
    if (rank_ == 0) all = shared_.texts;
    shared_.barrier.arrive_and_wait();
    return all;
  }

 private:
  template <class T>
  void add(std::span<T> values) {
    count(size() > 1 ? values.size_bytes() : 0);
    shared_.places[rank_] = values.data();
    shared_.barrier.arrive_and_wait();
    std::vector<T> total(values.size(), T{});
    for (const void* place : shared_.places)
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += static_cast<const T*>(place)[i];
    shared_.barrier.arrive_and_wait();
    std::copy(total.begin(), total.end(), values.begin());
  }
  SharedPlaces& shared_;
  std::size_t rank_;
};

/// Calls body(group) in `size` threads at once; the first exception by rank is rethrown. A body that throws while
/// others wait in a collective call would leave them there: bodies throw all together or not at all.
inline void run_as_processes(std::size_t size, const std::function<void(Processes&)>& body) {
  SharedPlaces shared(size);
  std::vector<std::exception_ptr> errors(size);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadProcess member(shared, rank);
      try {
        body(member);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace parsnets
