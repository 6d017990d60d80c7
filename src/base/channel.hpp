#pragma once
// Numbers, text and values between two processes of this machine, which are of the same build.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"

namespace parsnets {

/// The other side is gone, says nothing for longer than allowed, or says what cannot be.
struct ChannelEnded : std::exception {
  explicit ChannelEnded(std::string why = "") : reason(std::move(why)) {}
  const char* what() const noexcept override { return reason.c_str(); }
  std::string reason;  ///< empty: it is gone
};

/// One end of a pair of connected sockets. What is put is sent by send(). Every method throws ChannelEnded.
class Channel {
 public:
  /// `seconds`: how long the other side may be silent; 0: for ever. `while_silent` is called after each of them, and
  /// may throw.
  explicit Channel(
      Descriptor socket, unsigned seconds = 0, std::function<void()> while_silent = [] {});

  void put(const void* data, std::size_t bytes);
  void put_number(std::uint64_t number) { put(&number, sizeof number); }
  void put_text(std::string_view text);
  void send();

  void get(void* data, std::size_t bytes);
  std::uint64_t get_number();
  std::string get_text(std::uint64_t most_bytes);

 private:
  void send_all(const char* data, std::size_t bytes);
  std::size_t receive(void* data, std::size_t bytes);
  void wait_more(unsigned& waited) const;

  Descriptor socket_;
  unsigned seconds_;
  std::function<void()> while_silent_;
  std::vector<char> out_, in_;
  std::size_t read_ = 0;  ///< bytes of in_ that were taken
};

}  // namespace parsnets
