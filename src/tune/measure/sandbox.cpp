// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/sandbox.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace tilewright::tune {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArch = AUDIT_ARCH_AARCH64;
#elif defined(__riscv) && __riscv_xlen == 64
constexpr uint32_t kArch = AUDIT_ARCH_RISCV64;
#endif

/// Memory, time, waiting, the end; reading and writing of what is open, which is the link alone.
constexpr int kAllowed[] = {
    SYS_read,
    SYS_write,
    SYS_writev,
    SYS_futex,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_mprotect,
    SYS_brk,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_clock_nanosleep,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_rt_sigaction,
    SYS_sigaltstack,
    SYS_exit,
    SYS_exit_group,
    SYS_getrusage,
    SYS_getpid,
    SYS_gettid,
    SYS_getrandom,
    SYS_restart_syscall,
    SYS_rseq,             // what a thread that has just been started does
    SYS_set_robust_list,  // likewise
    SYS_seccomp,          // can only take more away
};

/// Lets pass what is allowed, signals to the process itself, as abort() sends them, and that a
/// thread chooses its own processors, as workers of a pool do; everything else gets `action`.
bool install(uint32_t action) {
#ifdef SYS_seccomp
  const auto load = [](size_t field) {  // of 64 bits the low half: it comes first on our machines
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(field));
  };
  const auto give = [](uint32_t what) { return sock_filter BPF_STMT(BPF_RET | BPF_K, what); };
  const auto skip_unless = [](uint32_t value, uint8_t count) {
    return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count);
  };
  const auto skip = [](uint32_t count) { return sock_filter BPF_STMT(BPF_JMP | BPF_JA, count); };
  std::vector<sock_filter> code{
      load(offsetof(seccomp_data, arch)), skip_unless(kArch, 1), skip(1),
      give(SECCOMP_RET_KILL_PROCESS),  // another architecture's numbers mean other calls
      load(offsetof(seccomp_data, nr)),
  };
  for (const int call : kAllowed) {
    code.push_back(skip_unless(static_cast<uint32_t>(call), 1));
    code.push_back(give(SECCOMP_RET_ALLOW));
  }
  const auto allow_for = [&](int call, pid_t whom) {  // its first argument
    code.push_back(skip_unless(static_cast<uint32_t>(call), 4));
    code.push_back(load(offsetof(seccomp_data, args)));
    code.push_back(skip_unless(static_cast<uint32_t>(whom), 1));
    code.push_back(give(SECCOMP_RET_ALLOW));
    code.push_back(give(action));
  };
  allow_for(SYS_tgkill, getpid());
  allow_for(SYS_sched_setaffinity, 0);
  code.push_back(give(action));
  const sock_fprog program{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
#else
  errno = ENOSYS;
  return false;
#endif
}

bool limit(__rlimit_resource_t what, int64_t most) {
  const auto value = static_cast<rlim_t>(most);
  const rlimit both{value, value};
  return setrlimit(what, &both) == 0;
}

/// Bytes of address space in use.
int64_t mapped_bytes() {
  long long pages = 0;
  std::FILE* f = std::fopen("/proc/self/statm", "r");
  if (!f) return 0;
  const bool ok = std::fscanf(f, "%lld", &pages) == 1;
  std::fclose(f);
  return ok ? pages * sysconf(_SC_PAGESIZE) : 0;
}

bool close_all_but(int keep) {
  const int nothing = open("/dev/null", O_RDWR);
  if (nothing < 0) return false;
  for (int fd = 0; fd < 3; ++fd)
    if (dup2(nothing, fd) < 0) return false;
  const auto close_range = [](int first, int last) {
    return first > last || syscall(SYS_close_range, first, last, 0) == 0;
  };
  return close_range(3, keep - 1) && close_range(keep + 1, INT_MAX);
}

}  // namespace

bool enter_sandbox(int keep, int64_t memory_bytes) {
  const int64_t mapped = mapped_bytes();
  // Ctrl-C is for the parent, which decides what becomes of us.
  setpgid(0, 0);
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0 &&
         prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && close_all_but(keep) &&
         limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_NOFILE, 0) &&
         limit(RLIMIT_AS, mapped + memory_bytes) && install(SECCOMP_RET_ERRNO | EPERM);
}

bool end_on_violation() { return install(SECCOMP_RET_KILL_PROCESS); }

}  // namespace tilewright::tune
