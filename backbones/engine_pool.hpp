#pragma once
// Several photographs in a network at a time. An engine runs each by one thread: with more, OpenCV rounds in other
// ways, and features would depend on the number of threads.

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "engine.hpp"

namespace parsnets {

/// Engines of the same network. Thread-safe.
class EnginePool {
 public:
  /// Opens others beside the first, at most `most` in all, when they are needed.
  EnginePool(std::unique_ptr<Engine> first, std::function<std::unique_ptr<Engine>()> open, unsigned most);

  std::string name() const { return first_->name(); }
  /// As Engine::run(). Waits while all are used. Throws what the engine throws.
  void run(std::span<const float> input, std::vector<float>& features);

 private:
  Engine& take();
  void give_back(Engine& engine);

  std::function<std::unique_ptr<Engine>()> open_;
  std::unique_ptr<Engine> first_;
  std::size_t most_;
  bool opening_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Engine>> others_;
  std::vector<Engine*> free_;
};

}  // namespace parsnets
