#pragma once
// A child process that parses what others made: parsnets-decode, which may read what it is given and nothing else. It
// cannot open files or connections or start programs, and its memory and processor time are limited.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/channel.hpp"
#include "parsnets/version.hpp"

namespace parsnets {

struct DecoderLimits {
  std::uint64_t memory = 0;  ///< bytes that it may take
  unsigned seconds = 0;      ///< of processor time
  unsigned silence = 0;      ///< seconds that an answer may take; 0: ten times the processor time, and ten
};

/// What parsnets-decode is started with: `parsnets-decode WORK BYTES SECONDS`, these descriptors, and no others.
inline constexpr int kDecoderSocket = 3, kDecoderFile = 4;
/// What it says first.
inline constexpr const char* kDecoderGreeting = "parsnets-decode " PARSNETS_VERSION;
/// How it ends when its memory does not suffice.
inline constexpr int kDecoderLacksMemory = 9;
/// How an answer begins, and where it ends or a further part of it comes.
enum class DecoderReply : std::uint64_t { more = 1, done, refused };

/// The program, parsnets-decode, or parsnets-decode-photos: what PARSNETS_DECODE names (beside which the other is),
/// else what was installed with this code. Throws failure when there is none.
std::filesystem::path decoder_program(const std::string& work = "mat");

/// Not thread-safe.
class Decoder {
 public:
  /// `name` is for messages. `file`: a descriptor that must live as long as this object; negative: none.
  Decoder(std::string name, std::string work, int file, DecoderLimits limits);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Has work(channel) put a question and take its answer; starts the process first where none runs. Throws bad_input
  /// when the process refuses the file, breaks down or takes more than it may. The next question then goes to a new
  /// process, as after any other exception of `work`.
  /// `seconds` of processor time are for this question; 0: as many as are left of the limit.
  void ask(const std::function<void(Channel&)>& work, unsigned seconds = 0);
  /// The next part of an answer: true for one more, false at the end. Throws bad_input, with which ask() goes on, when
  /// the file is refused.
  bool has_more(Channel& channel);
  /// How it is kept from everything else: "seccomp" or "limits". Starts it where none runs.
  std::string sandbox();

 private:
  void start();
  double used_seconds() const;  ///< of processor time by the process
  int stop();                   ///< its wait status; -1: not known
  [[noreturn]] void broke_down(const std::string& reason);

  std::string name_, work_, sandbox_;
  int file_;
  DecoderLimits limits_;
  pid_t process_ = -1, owner_ = -1;  ///< a fork of this process has no part in it
  unsigned question_seconds_ = 0;
  double may_use_ = 0;  ///< seconds of processor time until the end of the question
  std::unique_ptr<Channel> channel_;
  bool greeted_ = false;  ///< the process was started as it should be
  bool refused_ = false;  ///< the file, by an orderly answer
};

}  // namespace parsnets
