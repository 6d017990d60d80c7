#include "engine_pool.hpp"

#include <utility>

namespace parsnets {

EnginePool::EnginePool(std::unique_ptr<Engine> first, std::function<std::unique_ptr<Engine>()> open, unsigned most)
    : open_(std::move(open)), first_(std::move(first)), most_(most), free_{first_.get()} {}

void EnginePool::run(std::span<const float> input, std::vector<float>& features) {
  struct Taken {
    EnginePool& pool;
    Engine& engine = pool.take();
    ~Taken() { pool.give_back(engine); }
  } const taken{*this};
  taken.engine.run(input, features);
}

Engine& EnginePool::take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!free_.empty()) {
      Engine& engine = *free_.back();
      free_.pop_back();
      return engine;
    }
    if (!opening_ && 1 + others_.size() < most_) {
      opening_ = true;  // one at a time: opening takes more memory than running
      lock.unlock();
      std::unique_ptr<Engine> another;
      try {
        another = open_();
      } catch (...) {  // memory is short: those that are open do the work
      }
      lock.lock();
      opening_ = false;
      changed_.notify_all();
      if (another)
        free_.push_back(others_.emplace_back(std::move(another)).get());
      else
        most_ = 1 + others_.size();
      continue;
    }
    changed_.wait(lock);
  }
}

void EnginePool::give_back(Engine& engine) {
  const std::lock_guard lock(mutex_);
  free_.push_back(&engine);
  changed_.notify_one();
}

}  // namespace parsnets
