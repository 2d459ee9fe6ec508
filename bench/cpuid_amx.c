// SPDX-License-Identifier: Apache-2.0
/* Preload shim for virtual machines that offer AMX but leave CPUID leaves 0x1D and 0x1E
 * empty: oneDNN then loads tile palette 0 and dies with SIGILL at the first tilezero.
 * The shim lets CPUID trap (ARCH_SET_CPUID) and answers these two leaves with the
 * values of the architecture (palette 1: 8 tiles of 16 rows x 64 bytes), all others as the
 * machine does.  For measurements only.
 * Build: gcc -O2 -shared -fPIC cpuid_amx.c -o cpuid_amx.so    Use: LD_PRELOAD=./cpuid_amx.so
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_SET_CPUID 0x1012
static struct sigaction old;

static void trap(int sig, siginfo_t* si, void* uc) {
  greg_t* r = ((ucontext_t*)uc)->uc_mcontext.gregs;
  const uint8_t* ip = (const uint8_t*)r[REG_RIP];
  if (si->si_code != SI_KERNEL || ip[0] != 0x0f || ip[1] != 0xa2) { /* not a CPUID */
    if (old.sa_flags & SA_SIGINFO)
      old.sa_sigaction(sig, si, uc);
    else if (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN) {
      signal(SIGSEGV, SIG_DFL);
    } else
      old.sa_handler(sig);
    return;
  }
  unsigned leaf = r[REG_RAX], sub = r[REG_RCX], a, b, c, d;
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
  __cpuid_count(leaf, sub, a, b, c, d);
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
  if (leaf == 0 && a < 0x1e) a = 0x1e;
  if (leaf == 0x1d) {
    a = b = c = d = 0;
    if (sub == 0) a = 1; /* max palette */
    if (sub == 1) {
      a = 8192 | 1024 << 16;
      b = 64 | 8 << 16;
      c = 16;
    } /* bytes, tiles, rows */
  }
  if (leaf == 0x1e) {
    a = c = d = 0;
    b = sub == 0 ? (16 | 64 << 8) : 0;
  } /* tmul maxk, maxn */
  r[REG_RAX] = a;
  r[REG_RBX] = b;
  r[REG_RCX] = c;
  r[REG_RDX] = d;
  r[REG_RIP] += 2;
}

__attribute__((constructor)) static void init(void) {
  struct sigaction s;
  memset(&s, 0, sizeof s);
  s.sa_sigaction = trap;
  s.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &s, &old);
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
}
