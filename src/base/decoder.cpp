#include "base/decoder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/beside.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::uint64_t kLongestMessage = 64 << 10;
constexpr const char* kTooLong = "one that takes more time";
constexpr unsigned kSilencePerSecond = 10, kMostSilence = 86400;

/// Descriptors of the new process: nothing to read or write but socket and file.
class SpawnActions {
 public:
  SpawnActions(int socket, int file) {
    ::posix_spawn_file_actions_init(&actions_);
    for (const int standard : {0, 1}) ::posix_spawn_file_actions_addopen(&actions_, standard, "/dev/null", O_RDWR, 0);
#ifndef PARSNETS_SANITIZED
    ::posix_spawn_file_actions_addopen(&actions_, 2, "/dev/null", O_RDWR, 0);
#endif
    // Both are above the numbers that they get, so that neither is overwritten before its turn.
    ::posix_spawn_file_actions_adddup2(&actions_, socket, kDecoderSocket);
    if (file >= 0) ::posix_spawn_file_actions_adddup2(&actions_, file, kDecoderFile);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, file >= 0 ? kDecoderFile + 1 : kDecoderFile);
#endif
  }
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// A copy whose number is above those that the new process uses.
Descriptor above_used(int descriptor) { return Descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, kDecoderFile + 1)); }

/// What says where libraries are and how sanitizers work; nothing else is its business.
std::vector<char*> decoder_environment() {
  std::vector<char*> kept;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one)
    for (const std::string_view name :
         {"LD_LIBRARY_PATH=", "ASAN_OPTIONS=", "UBSAN_OPTIONS=", "TSAN_OPTIONS=", "GCOV_PREFIX=", "GCOV_PREFIX_STRIP="})
      if (std::string_view(*one).starts_with(name)) kept.push_back(*one);
  // Libraries that OpenCV is linked to would start threads, and look for graphics cards.
  static std::array<std::string, 3> alone{"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1",
                                          "OPENCV_OPENCL_RUNTIME=disabled"};
  for (auto& one : alone) kept.push_back(one.data());
  kept.push_back(nullptr);
  return kept;
}

Error cannot_start(const std::string& name, const std::string& why) {
  return Error(ErrorCode::failure, fmt::format("{}: cannot start parsnets-decode, which reads it: {}", name, why));
}

}  // namespace

std::filesystem::path decoder_program(const std::string& work) {
  const std::string photos = work == "photos" || work == "network" ? "-photos" : "";
  if (const char* named = ::secure_getenv("PARSNETS_DECODE"); named != nullptr && *named != '\0') return named + photos;
  std::string problem;
  const auto found = installed_with_this_code("parsnets-decode" + photos, problem);
  if (found.empty())
    throw Error(ErrorCode::failure,
                "expected the program parsnets-decode, which reads MAT files, photographs and networks, beside the "
                "library; found " +
                    problem + "; install it, or set PARSNETS_DECODE to its path");
  return found.front();
}

Decoder::Decoder(std::string name, std::string work, int file, DecoderLimits limits)
    : name_(std::move(name)), work_(std::move(work)), file_(file), limits_(limits) {}

Decoder::~Decoder() { stop(); }

void Decoder::start() {
  const std::string program = decoder_program(work_).string();
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    throw cannot_start(name_, std::strerror(errno));
  Descriptor ours(pair[0]);
  const Descriptor theirs(pair[1]), socket = above_used(theirs), file = file_ >= 0 ? above_used(file_) : Descriptor();
  if (socket < 0 || (file_ >= 0 && file < 0)) throw cannot_start(name_, std::strerror(errno));
  const SpawnActions actions(socket, file);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  // A group of its own: Ctrl-C is for this process, which ends the other one.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::array<std::string, 4> words{"parsnets-decode", work_, std::to_string(limits_.memory),
                                   std::to_string(limits_.seconds)};
  std::array<char*, 5> arguments{words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  const int failed = ::posix_spawn(&process_, program.c_str(), actions.get(), &attributes, arguments.data(),
                                   decoder_environment().data());
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    process_ = -1;
    throw cannot_start(name_, program + ": " + std::strerror(failed));
  }
  const unsigned silence =
      limits_.silence > 0 ? limits_.silence : std::min(kSilencePerSecond * (limits_.seconds + 1), kMostSilence);
  owner_ = ::getpid();
  may_use_ = limits_.seconds;
  channel_ = std::make_unique<Channel>(std::move(ours), silence, [this] {
    if (used_seconds() > may_use_) throw ChannelEnded(kTooLong);
  });
}

double Decoder::used_seconds() const {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(process_, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

int Decoder::stop() {
  channel_.reset();
  if (owner_ != ::getpid()) process_ = -1;
  if (process_ < 0) return -1;
  int status = -1;
  // Nobody else's process of the same number is ended: one that was waited for elsewhere is no child any more.
  pid_t ended = ::waitpid(process_, &status, WNOHANG);
  if (ended == 0) {
    ::kill(process_, SIGKILL);
    do ended = ::waitpid(process_, &status, 0);
    while (ended < 0 && errno == EINTR);
  }
  const bool known = ended == process_;
  process_ = -1;
  return known ? status : -1;
}

void Decoder::broke_down(const std::string& reason) {
  if (reason.empty())  // it closed its end: it ends now, unless it pretends
    for (int wait = 0; wait < 2000 && ::kill(process_, 0) == 0; ++wait) {
      siginfo_t ended{};
      if (::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOWAIT | WNOHANG) != 0 || ended.si_pid != 0)
        break;
      ::usleep(1000);
    }
  const int status = stop();
  if (!greeted_) throw cannot_start(name_, decoder_program(work_).string() + " ends at once");
  std::string found = reason;
  if (!reason.empty() || status == -1) {
    if (found.empty()) found = "one that ends its reader";
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == kDecoderLacksMemory) {
    found = "one that takes more memory";
  } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    found = kTooLong;
  } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
    found = "one that has its reader do what no reader does, which was prevented";
  } else if (WIFSIGNALED(status)) {
    found = fmt::format("one that breaks its reader ({})", ::sigabbrev_np(WTERMSIG(status)));
  } else {
    found = "one that ends its reader";
  }
  throw Error(BadInput{name_, "",
                       fmt::format("a file that is read with {} s of processor time and {} MB of memory",
                                   question_seconds_, limits_.memory >> 20),
                       found, "the file is damaged or made to do harm: get it again"});
}

bool Decoder::has_more(Channel& channel) {
  const auto reply = static_cast<DecoderReply>(channel.get_number());
  if (reply == DecoderReply::more) return true;
  if (reply == DecoderReply::done) return false;
  if (reply != DecoderReply::refused) throw ChannelEnded("an answer that makes no sense");
  BadInput parts;
  parts.file = name_;
  for (std::string* part : {&parts.field, &parts.expected, &parts.found, &parts.advice})
    *part = channel.get_text(kLongestMessage);
  refused_ = true;
  throw Error(std::move(parts));
}

void Decoder::ask(const std::function<void(Channel&)>& work, unsigned seconds) {
  refused_ = false;
  question_seconds_ = seconds > 0 ? seconds : limits_.seconds;
  // One that is shared over many files is replaced before its limit counts against one of them.
  if (process_ >= 0 && (owner_ != ::getpid() || (seconds > 0 && used_seconds() + seconds > limits_.seconds))) stop();
  try {
    if (process_ < 0) {
      greeted_ = false;
      start();
      const std::string greeting = channel_->get_text(kLongestMessage);
      sandbox_ = channel_->get_text(kLongestMessage);
      greeted_ = true;
      if (greeting != kDecoderGreeting)
        throw Error(ErrorCode::failure, fmt::format("{} is of another build: expected '{}'",
                                                    decoder_program(work_).string(), kDecoderGreeting));
    }
    if (seconds > 0) may_use_ = used_seconds() + seconds;
    work(*channel_);
  } catch (const ChannelEnded& end) {
    broke_down(end.reason);
  } catch (...) {
    if (!refused_) stop();
    throw;
  }
}

std::string Decoder::sandbox() {
  ask([](Channel&) {});
  return sandbox_;
}

}  // namespace parsnets
