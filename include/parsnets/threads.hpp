#pragma once
// A fixed set of worker threads. Work is cut into chunks whose bounds depend on the problem alone, never on the
// number of threads, so that results are bitwise equal for any `threads`.

#include <cstddef>
#include <functional>
#include <memory>

namespace parsnets {

/// Runs the chunks of a loop on its threads.
class ThreadPool {
 public:
  /// `threads` >= 1, or 0 for one per core this process may use. One thread means: run in the caller.
  /// Where the system has no more threads to give, there are fewer. Nothing that is computed depends on how many there
  /// are.
  explicit ThreadPool(unsigned threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned size() const;  ///< threads, the caller's included

  /// Calls body(begin, end, chunk) for [0, count) cut every `grain` items; returns when all have run. Chunks run in
  /// any order on any thread, the caller's included. The exception of the lowest chunk that threw is rethrown.
  /// A call from inside a body runs its chunks in the calling thread.
  void parallel_for(std::size_t count, std::size_t grain,
                    const std::function<void(std::size_t begin, std::size_t end, std::size_t chunk)>& body);

  /// How many chunks parallel_for makes.
  static std::size_t chunk_count(std::size_t count, std::size_t grain) { return (count + grain - 1) / grain; }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Cores this process may use (affinity mask and cgroup quota taken into account).
unsigned available_cores();

}  // namespace parsnets
