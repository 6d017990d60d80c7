#pragma once
// Processes: those that train or predict together, each with a part of the samples. What one process does alone is the
// case of size 1.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace parsnets {

/// A range of samples.
struct Share {
  std::size_t first = 0, count = 0;  ///< samples first, …, first + count − 1
};

/// A group of processes. Calls are collective: every process of the group makes the same ones, in the same order, with
/// as many values. A process on its own does nothing in them. Not thread-safe.
class Processes {
 public:
  virtual ~Processes() = default;
  virtual std::size_t rank() const = 0;  ///< 0, …, size() − 1; process 0 writes files and messages
  virtual std::size_t size() const = 0;  ///< at least 1

  /// Replaces each value by its sum over the processes. All of them get the same bits.
  virtual void sum(std::span<double> values) = 0;
  virtual void sum(std::span<float> values) = 0;          ///< as above
  virtual void sum(std::span<std::uint64_t> values) = 0;  ///< as above
  /// Replaces the text by that of process `root`.
  virtual void broadcast(std::string& text, std::size_t root = 0) = 0;
  /// The texts of all processes by rank, for process 0; nothing for the others.
  virtual std::vector<std::string> gather(const std::string& text) = 0;

  /// Bytes that this process has put into collective calls: the values of sum() and of texts, each counted once.
  std::uint64_t bytes() const { return bytes_; }

  /// The part of `count` samples that belongs to this process: parts differ by at most one sample.
  Share share(std::size_t count) const;

 protected:
  void count(std::uint64_t bytes) { bytes_ += bytes; }  ///< for implementations, in every call with size() > 1

 private:
  std::uint64_t bytes_ = 0;
};

/// A group of one.
class SingleProcess final : public Processes {
 public:
  std::size_t rank() const override { return 0; }
  std::size_t size() const override { return 1; }
  void sum(std::span<double>) override {}
  void sum(std::span<float>) override {}
  void sum(std::span<std::uint64_t>) override {}
  void broadcast(std::string&, std::size_t) override {}
  std::vector<std::string> gather(const std::string& text) override { return {text}; }
};

// Work of a group of processes that succeeds for all of them or for none.

/// Calls body() on every process. When it throws on one or more, all throw the error of the first of these.
void together(Processes& processes, const std::function<void()>& body);

}  // namespace parsnets
