// Stands in for parsnets-decode and tries what its word says, as a file that took the reader over would. What is
// prevented without ending it comes back as "failed", what is not as "done".

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <string_view>

#include "base/decoder.hpp"
#include "sandbox.hpp"

using namespace parsnets;
using namespace std::string_view_literals;

namespace {

using Attempt = bool (*)(Channel&);  ///< whether it was done

bool allocate(Channel&) {
  for (;;) std::memset(::operator new(1 << 20), 1, 1 << 20);
}

bool loop(Channel&) {
  for (volatile bool forever = true; forever;) continue;
  return true;
}

bool fork_a_process(Channel&) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return child > 0;
}

bool send_nonsense(Channel& channel) {
  channel.put_number(77);
  channel.send();
  return true;
}

bool send_endless_text(Channel& channel) {
  channel.put_number(static_cast<std::uint64_t>(DecoderReply::refused));
  channel.put_number(~0ull);
  channel.send();
  return true;
}

const std::map<std::string, Attempt> kAttempts{
    {"open", [](Channel&) { return ::open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0; }},
    {"create", [](Channel&) { return ::open("/tmp/parsnets-probe", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0; }},
    {"socket", [](Channel&) { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0; }},
    {"fork", fork_a_process},
    {"exec", [](Channel&) { return ::execl("/bin/true", "true", nullptr) == 0; }},
    {"kill", [](Channel&) { return ::kill(::getppid(), 0) == 0; }},
    {"ptrace", [](Channel&) { return ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr) == 0; }},
    {"code",
     [](Channel&) {
       return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
              MAP_FAILED;
     }},
    {"limits",
     [](Channel&) {
       const rlimit more{RLIM_INFINITY, RLIM_INFINITY};
       return ::setrlimit(RLIMIT_CPU, &more) == 0;
     }},
    {"memory", allocate},
    {"loop", loop},
    {"silence", [](Channel& channel) { return channel.get_number() == 0; }},
    {"crash", [](Channel&) { return ::raise(SIGSEGV) == 0 && *static_cast<volatile int*>(nullptr) == 0; }},
    {"end", [](Channel&) -> bool { ::_exit(0); }},
    {"nonsense", send_nonsense},
    {"endless text", send_endless_text},
    {"mat", send_nonsense},
    {"nothing", [](Channel&) { return true; }}};

}  // namespace

int main(int, char** words) {
  try {
    Channel channel{Descriptor(kDecoderSocket)};
    const std::string sandbox =
        enter_sandbox(std::strtoull(words[2], nullptr, 10), static_cast<unsigned>(std::strtoul(words[3], nullptr, 10)));
    channel.put_text(kDecoderGreeting);
    channel.put_text(sandbox);
    channel.send();
    for (;;) {
      channel.get_number();
      const bool done = kAttempts.at(words[1])(channel);
      channel.put_number(static_cast<std::uint64_t>(DecoderReply::refused));
      for (const std::string_view part :
           {std::string_view(words[1]), "nothing else"sv, done ? "done"sv : "failed"sv, ""sv})
        channel.put_text(part);
      channel.send();
    }
  } catch (const ChannelEnded&) {
  } catch (const std::bad_alloc&) {
    ::_exit(kDecoderLacksMemory);
  }
  ::_exit(0);
}
