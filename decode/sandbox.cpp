#include "sandbox.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>

#ifdef PARSNETS_SECCOMP
#include <seccomp.h>
#include <sys/mman.h>

#include <cerrno>
#include <memory>
#endif

namespace parsnets {

namespace {

void limit(int resource, rlim_t most) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) return;
  now.rlim_max = now.rlim_max < most ? now.rlim_max : most;
  now.rlim_cur = now.rlim_cur < now.rlim_max ? now.rlim_cur : now.rlim_max;
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
}

#if defined(PARSNETS_SECCOMP) && !defined(PARSNETS_INSTRUMENTED)
// clang-format off
constexpr const char* kAllowed[] = {
    "read", "pread64", "write", "sendto", "recvfrom", "lseek", "_llseek", "close", "munmap", "mremap", "brk", "madvise",
    "futex", "futex_time64", "clock_gettime", "clock_gettime64", "gettimeofday", "time", "getrandom", "exit",
    "exit_group", "rt_sigreturn", "sigreturn", "rt_sigprocmask", "sched_yield", "getpid", "gettid", "restart_syscall",
    "sched_getaffinity", "sysinfo", "set_robust_list", "rseq"};
constexpr const char* kFailing[] = {
    "open", "openat", "openat2", "stat", "stat64", "lstat", "lstat64", "fstat", "fstat64", "newfstatat", "fstatat64",
    "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "ioctl", "uname", "fcntl",
    "fcntl64"};
// clang-format on

bool filter_system_calls() {
  struct Release {
    void operator()(void* filter) const { ::seccomp_release(filter); }
  };
  const std::unique_ptr<void, Release> filter(::seccomp_init(SCMP_ACT_KILL_PROCESS));
  if (!filter) return false;
  bool whole = ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1) == 0;
  const auto rule = [&](std::uint32_t action, const char* name, unsigned count = 0, scmp_arg_cmp condition = {}) {
    const int number = ::seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) return;  // other systems have others
    const int result = ::seccomp_rule_add_array(filter.get(), action, number, count, &condition);
    if (result != 0 && number >= 0) whole = false;
  };
  for (const char* name : kAllowed) rule(SCMP_ACT_ALLOW, name);
  for (const char* name : {"mmap", "mmap2", "mprotect"})
    rule(SCMP_ACT_ALLOW, name, 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  // What libraries try and can do without: the C library asks how many processors there are, say.
  for (const char* name : kFailing) rule(SCMP_ACT_ERRNO(EACCES), name);
  return whole && ::seccomp_load(filter.get()) == 0;
}
#elif !defined(PARSNETS_INSTRUMENTED)
bool filter_system_calls() { return false; }
#endif

}  // namespace

std::string enter_sandbox(std::uint64_t memory, unsigned seconds) {
  limit(RLIMIT_CORE, 0);
  rlimit time{seconds, rlim_t{seconds} + 1};  // SIGXCPU first, which tells
  ::setrlimit(RLIMIT_CPU, &time);
#ifdef PARSNETS_INSTRUMENTED
  static_cast<void>(memory);
  return "time";
#else
  constexpr rlim_t kAddressesOfLibraries = rlim_t{1} << 30;
  limit(RLIMIT_DATA, memory);
  limit(RLIMIT_AS, memory + kAddressesOfLibraries);
  limit(RLIMIT_NOFILE, 0);
  limit(RLIMIT_NPROC, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_MSGQUEUE, 0);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return filter_system_calls() ? "seccomp" : "limits";
#endif
}

}  // namespace parsnets
