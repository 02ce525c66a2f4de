#define _GNU_SOURCE
#include "shims_subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// What stands between the beginning of a child and its program. It runs in the memory of this process, on a stack of its own, while the
// calling thread waits: the kernel copies no page tables, which cost more than all the rest, and write-protects no page of ours. So it
// calls nothing that keeps notes in memory, as the functions of a sanitizer do, and every one of its calls is the kernel's.
#define BETWEEN __attribute__((no_sanitize("address", "thread", "undefined")))
#define CALL(name, ...) syscall(SYS_##name, __VA_ARGS__)

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef OWN_ARCHITECTURE
// Calls that the headers of an older system do not have a number for; they are the same on every processor.
#ifndef __NR_clone3
#define __NR_clone3 435
#endif
#ifndef __NR_openat2
#define __NR_openat2 437
#endif
#ifndef __NR_pidfd_getfd
#define __NR_pidfd_getfd 438
#endif
#ifndef __NR_process_madvise
#define __NR_process_madvise 440
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif

// Both processors have the lower half of an argument first.
#define LOW(number) offsetof(struct seccomp_data, args[number])
#define HIGH(number) (offsetof(struct seccomp_data, args[number]) + 4)
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define IF_ANY(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)
#define ANSWER(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

// Each of these looks at one call, and leaves all others to what follows.
#define REFUSE(call) IF_EQUAL(call, 0, 1), ANSWER(EPERM)
#define DENY_EXISTENCE(call) IF_EQUAL(call, 0, 1), ANSWER(ENOSYS)
#define REFUSE_WITH_ANY(call, argument, bits) \
  IF_EQUAL(call, 0, 4), LOAD(LOW(argument)), IF_ANY(bits, 0, 1), ANSWER(EPERM), ALLOW
#define REFUSE_WITHOUT_ANY(call, argument, bits) \
  IF_EQUAL(call, 0, 4), LOAD(LOW(argument)), IF_ANY(bits, 1, 0), ANSWER(EPERM), ALLOW
#define REFUSE_UNLESS(call, argument, value) \
  IF_EQUAL(call, 0, 4), LOAD(LOW(argument)), IF_EQUAL(value, 1, 0), ANSWER(EPERM), ALLOW

// What stands where the number of the process belongs, until it is known.
#define OWN_PROCESS 0x7fffffffu
// Opening for anything but reading: the two bits of the mode, and what makes or empties a file.
#define WRITING (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

// No socket is made, no other process is looked into, signalled, limited or begun, nobody leaves the group that is killed at the end, and
// no file is changed. A list of what is refused: what decoders need differs from release to release.
static const struct sock_filter refusals[] = {
    LOAD(offsetof(struct seccomp_data, arch)),
    IF_EQUAL(OWN_ARCHITECTURE, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    LOAD(offsetof(struct seccomp_data, nr)),
#ifdef __x86_64__
    // The x32 calls are the same calls by other numbers.
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
#endif
    REFUSE(__NR_socket),
    REFUSE(__NR_socketpair),
    REFUSE(__NR_connect),
    REFUSE(__NR_bind),
    REFUSE(__NR_listen),
    REFUSE(__NR_sendto),
    REFUSE(__NR_sendmsg),
    REFUSE(__NR_sendmmsg),
    // A ring can do most of this without these calls.
    REFUSE(__NR_io_uring_setup),

    // Limits are those of a process: a second one would have as much again. A thread is none; and the C library makes one by the older
    // call, whose flags can be seen, where the newer one is not there.
    DENY_EXISTENCE(__NR_clone3),
    REFUSE_WITHOUT_ANY(__NR_clone, 0, CLONE_THREAD),
#ifdef __NR_fork
    REFUSE(__NR_fork),
    REFUSE(__NR_vfork),
#endif
    // They are read, of the process itself, and never set.
    IF_EQUAL(__NR_prlimit64, 0, 8),
    LOAD(LOW(0)),
    IF_EQUAL(0, 0, 5),
    LOAD(LOW(2)),
    IF_EQUAL(0, 0, 3),
    LOAD(HIGH(2)),
    IF_EQUAL(0, 0, 1),
    ALLOW,
    ANSWER(EPERM),
#ifdef __NR_setrlimit
    REFUSE(__NR_setrlimit),
#endif

    REFUSE(__NR_ptrace),
    REFUSE(__NR_process_vm_readv),
    REFUSE(__NR_process_vm_writev),
    REFUSE(__NR_process_madvise),
    REFUSE(__NR_pidfd_getfd),
    REFUSE(__NR_kill),
    REFUSE(__NR_tkill),
    // How abort() ends the process itself.
    REFUSE_UNLESS(__NR_tgkill, 0, OWN_PROCESS),
    REFUSE(__NR_rt_sigqueueinfo),
    REFUSE(__NR_rt_tgsigqueueinfo),
    REFUSE(__NR_pidfd_send_signal),
    // A descriptor that signals whomever it is told to, with any signal.
    IF_EQUAL(__NR_fcntl, 0, 6),
    LOAD(LOW(1)),
    IF_EQUAL(F_SETOWN, 3, 0),
    IF_EQUAL(F_SETSIG, 2, 0),
    IF_EQUAL(F_SETOWN_EX, 1, 0),
    ALLOW,
    ANSWER(EPERM),
    REFUSE(__NR_setsid),
    REFUSE(__NR_setpgid),

    DENY_EXISTENCE(__NR_openat2),
    REFUSE_WITH_ANY(__NR_openat, 2, WRITING),
    REFUSE(__NR_open_by_handle_at),
    REFUSE(__NR_truncate),
    REFUSE(__NR_unlinkat),
    REFUSE(__NR_renameat2),
    REFUSE(__NR_linkat),
    REFUSE(__NR_symlinkat),
    REFUSE(__NR_mkdirat),
    REFUSE(__NR_mknodat),
    REFUSE(__NR_fchmod),
    REFUSE(__NR_fchmodat),
    REFUSE(__NR_fchmodat2),
    REFUSE(__NR_fchown),
    REFUSE(__NR_fchownat),
    REFUSE(__NR_utimensat),
    REFUSE(__NR_setxattr),
    REFUSE(__NR_lsetxattr),
    REFUSE(__NR_fsetxattr),
    REFUSE(__NR_removexattr),
    REFUSE(__NR_lremovexattr),
    REFUSE(__NR_fremovexattr),
#ifdef __NR_renameat
    REFUSE(__NR_renameat),
#endif
#ifdef __x86_64__
    // The older forms, which ARM64 never had.
    REFUSE_WITH_ANY(__NR_open, 1, WRITING),
    REFUSE(__NR_creat),
    REFUSE(__NR_unlink),
    REFUSE(__NR_rmdir),
    REFUSE(__NR_rename),
    REFUSE(__NR_link),
    REFUSE(__NR_symlink),
    REFUSE(__NR_mkdir),
    REFUSE(__NR_mknod),
    REFUSE(__NR_chmod),
    REFUSE(__NR_chown),
    REFUSE(__NR_lchown),
    REFUSE(__NR_utime),
    REFUSE(__NR_utimes),
    REFUSE(__NR_futimesat),
#endif

    REFUSE(__NR_unshare),
    REFUSE(__NR_setns),
    REFUSE(__NR_mount),
    REFUSE(__NR_umount2),
    REFUSE(__NR_pivot_root),
    REFUSE(__NR_chroot),
    REFUSE(__NR_bpf),
    REFUSE(__NR_perf_event_open),
    REFUSE(__NR_userfaultfd),
    REFUSE(__NR_keyctl),
    ALLOW,
};

enum { refusal_count = sizeof refusals / sizeof refusals[0] };

// Puts the filter before the program that this process becomes.
BETWEEN static int confine(void) {
  struct sock_filter filter[refusal_count];
  uint32_t process = (uint32_t)syscall(SYS_getpid);
  for (int index = 0; index < refusal_count; index++) {
    filter[index] = refusals[index];
    if (filter[index].code == (BPF_JMP | BPF_JEQ | BPF_K) && filter[index].k == OWN_PROCESS) filter[index].k = process;
  }
  struct sock_fprog program = {.len = refusal_count, .filter = filter};
  // A kernel without filters runs it without: what it is told on its command line forbids the network as well.
  return CALL(prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 || errno == EINVAL ? 0 : errno;
}
#else
static int confine(void) { return 0; }
#endif

struct beginning {
  const char *path;
  char *const *arguments;
  int input;
  int output;
  const struct parley_process_limits *limits;
  pid_t parent;
  // Why there is no program; 0 once there is.
  int error;
};

BETWEEN static int limit(int resource, uint64_t soft, uint64_t hard) {
  struct rlimit value = {.rlim_cur = soft, .rlim_max = hard};
  return (int)CALL(prlimit64, 0, resource, &value, NULL);
}

// Answers only with an error number.
BETWEEN static int become(const struct beginning *of) {
  if (syscall(SYS_setsid) < 0) return errno;
  if (CALL(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return errno;
  // The parent may have ended before it was asked for.
  if (syscall(SYS_getppid) != of->parent) CALL(exit_group, 127);

  // A handler of ours is no place of the program's, and must not run in the memory that is still ours. The kernel's form of SIG_DFL
  // with nothing else said is all zeroes.
  const unsigned long usual[8] = {0};
  for (int number = 1; number < NSIG; number++) CALL(rt_sigaction, number, usual, NULL, sizeof(unsigned long));
  const unsigned long none = 0;
  if (CALL(rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none) != 0) return errno;

  // Above the places that they go to, so that none is overwritten before it was moved.
  int input = (int)CALL(fcntl, of->input, F_DUPFD, 8);
  int output = (int)CALL(fcntl, of->output, F_DUPFD, 8);
  if (input < 0 || output < 0) return errno;
  int nothing = (int)CALL(openat, AT_FDCWD, "/dev/null", O_WRONLY, 0);
  if (nothing < 0) return errno;
  if (nothing < 8) {
    nothing = (int)CALL(fcntl, nothing, F_DUPFD, 8);
    if (nothing < 0) return errno;
  }
  if (CALL(dup3, input, 0, 0) < 0 || CALL(dup3, output, 1, 0) < 0 || CALL(dup3, nothing, 2, 0) < 0) return errno;
  if (CALL(close_range, 3u, ~0u, 0u) != 0) {
    struct rlimit open_files;
    if (CALL(prlimit64, 0, RLIMIT_NOFILE, NULL, &open_files) != 0) return errno;
    for (rlim_t descriptor = 3; descriptor < open_files.rlim_cur; descriptor++) CALL(close, (int)descriptor);
  }

  CALL(umask, 077);
  if (CALL(chdir, "/") != 0) return errno;
  if (limit(RLIMIT_AS, of->limits->memory, of->limits->memory) != 0) return errno;
  if (limit(RLIMIT_FSIZE, of->limits->file_size, of->limits->file_size) != 0) return errno;
  if (limit(RLIMIT_CPU, of->limits->cpu_seconds, (uint64_t)of->limits->cpu_seconds + 1) != 0) return errno;
  if (limit(RLIMIT_NOFILE, of->limits->descriptors, of->limits->descriptors) != 0) return errno;
  if (limit(RLIMIT_CORE, 0, 0) != 0) return errno;
  // Whoever answers calls goes first.
  CALL(setpriority, PRIO_PROCESS, 0, 5);
  if (CALL(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  int confined = confine();
  if (confined != 0) return confined;
  char *const empty[] = {NULL};
  CALL(execve, of->path, of->arguments, empty);
  return errno;
}

BETWEEN static int begin(void *of) {
  struct beginning *beginning = of;
  beginning->error = become(beginning);
  CALL(exit_group, 127);
  __builtin_unreachable();
}

// glibc's, declared in none of its headers.
extern int __clone(int (*body)(void *), void *stack, int flags, void *argument, ...);

// What the stack of a beginning has: the filter, and little more.
enum { beginning_stack = 64 << 10 };

int parley_spawn_limited(
    const char *path, char *const arguments[], int input, int output, const struct parley_process_limits *limits, int *process) {
  char *stack = mmap(NULL, beginning_stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return errno;
  struct beginning beginning = {
      .path = path, .arguments = arguments, .input = input, .output = output, .limits = limits, .parent = getpid()};
  // No handler of ours may run in the child, which has our memory until it becomes the program.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Returns once the child is the program, or has ended. By the C library's own name: the thread sanitizer takes whatever `clone` makes
  // for a process with memory of its own, and puts its notes in order there, which are ours.
  pid_t child = __clone(begin, stack + beginning_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &beginning);
  int error = child < 0 ? errno : beginning.error;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  munmap(stack, beginning_stack);
  if (error == 0) {
    *process = child;
    return 0;
  }
  int status;
  while (child >= 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return error;
}

int parley_make_pipe(int *reading, int *writing) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    int error = errno;
    close(ends[0]);
    close(ends[1]);
    return error;
  }
  *reading = ends[0];
  *writing = ends[1];
  return 0;
}

int parley_watch_process(int process) { return (int)syscall(SYS_pidfd_open, process, 0); }

int parley_process_has_ended(int process) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

int parley_end_process(int process, uint64_t *cpu_microseconds) {
  // The process is not reaped yet, so that its group's number is nobody else's.
  kill(-process, SIGKILL);
  int status = 0;
  struct rusage used = {0};
  while (wait4(process, &status, 0, &used) < 0 && errno == EINTR) {
  }
  *cpu_microseconds = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                      (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  return status;
}

int parley_make_memory(void) { return memfd_create("parley-input", MFD_CLOEXEC | MFD_ALLOW_SEALING); }

int parley_append_memory(int memory, const void *bytes, size_t count) {
  const char *rest = bytes;
  while (count > 0) {
    ssize_t written = write(memory, rest, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    rest += written;
    count -= (size_t)written;
  }
  return 0;
}

int parley_seal_memory(int memory) {
  return fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0 ? 0 : errno;
}

int parley_open_memory(int memory) {
  char path[sizeof "/proc/self/fd/" + 10];
  snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
  return open(path, O_RDONLY | O_CLOEXEC);
}
