#include "parsnets/threads.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace parsnets {

namespace {

thread_local bool inside_pool = false;

struct Job {
  const std::function<void(std::size_t, std::size_t, std::size_t)>* body = nullptr;
  std::size_t count = 0, grain = 1, chunks = 0;
  std::atomic<std::size_t> next{0};
  std::mutex error_mutex;
  std::size_t error_chunk = std::numeric_limits<std::size_t>::max();
  std::exception_ptr error;

  void work() {
    for (std::size_t c = next.fetch_add(1); c < chunks; c = next.fetch_add(1)) {
      try {
        (*body)(c * grain, std::min(count, (c + 1) * grain), c);
      } catch (...) {
        std::lock_guard lock(error_mutex);
        if (c < error_chunk) {
          error_chunk = c;
          error = std::current_exception();
        }
      }
    }
  }
};

}  // namespace

struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake, idle;
  Job* job = nullptr;  ///< changed under the mutex, as the numbers below are; those are read without it, too
  std::atomic<std::size_t> generation{0}, running{0};
  std::atomic<bool> stop{false};

  void loop() {
    inside_pool = true;
    std::size_t seen = 0;
    for (;;) {
      const auto called = [&] { return stop.load() || generation.load() != seen; };
      look_for(called);
      std::unique_lock lock(mutex);
      wake.wait(lock, called);
      if (stop) return;
      seen = generation;
      Job* mine = job;
      if (mine == nullptr) continue;
      ++running;
      lock.unlock();
      mine->work();
      lock.lock();
      if (--running == 0) idle.notify_all();
    }
  }

  /// Loops follow each other within microseconds, and waking a thread takes as long as a small one: it pays to look for
  /// a moment before sleeping.
  template <typename Condition>
  static void look_for(const Condition& condition) {
    using Clock = std::chrono::steady_clock;
    for (const auto end = Clock::now() + std::chrono::microseconds(100); !condition() && Clock::now() < end;)
      for (int i = 0; i < 16; ++i) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
      }
  }
};

ThreadPool::ThreadPool(unsigned threads) : state_(std::make_unique<State>()) {
  if (threads == 0) threads = available_cores();
  state_->workers.reserve(threads);
  try {
    for (unsigned i = 1; i < threads; ++i) state_->workers.emplace_back([s = state_.get()] { s->loop(); });
  } catch (const std::system_error&) {  // the system has no more threads to give; results do not depend on their number
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
  for (auto& w : state_->workers) w.join();
}

unsigned ThreadPool::size() const { return static_cast<unsigned>(state_->workers.size()) + 1; }

void ThreadPool::parallel_for(std::size_t count, std::size_t grain,
                              const std::function<void(std::size_t, std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  Job job;
  job.body = &body;
  job.count = count;
  job.grain = std::max<std::size_t>(grain, 1);
  job.chunks = chunk_count(count, job.grain);
  if (state_->workers.empty() || job.chunks == 1 || inside_pool) {
    job.work();
  } else {
    {
      std::lock_guard lock(state_->mutex);
      state_->job = &job;
      ++state_->generation;
    }
    state_->wake.notify_all();
    inside_pool = true;
    job.work();
    inside_pool = false;
    std::unique_lock lock(state_->mutex);
    state_->job = nullptr;  // late wakers find no job
    if (state_->running != 0) {
      lock.unlock();
      State::look_for([&] { return state_->running.load() == 0; });
      lock.lock();
    }
    state_->idle.wait(lock, [&] { return state_->running == 0; });
  }
  if (job.error) std::rethrow_exception(job.error);
}

unsigned available_cores() {
  unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) cores = std::max(1, CPU_COUNT(&set));
  std::ifstream quota_file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (quota_file >> quota >> period && quota != "max" && period > 0)
    cores = std::min(cores, std::max(1u, static_cast<unsigned>(std::lround(std::stod(quota) / period))));
  return cores;
}

}  // namespace parsnets
