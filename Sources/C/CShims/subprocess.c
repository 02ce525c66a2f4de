#define _GNU_SOURCE
#include "shims_subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef OWN_ARCHITECTURE
#define REFUSE(call) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

// No socket is made, no other process is looked into or signalled, and nobody leaves the group that is killed at the end.
// A list of what is refused: what decoders need differs from release to release.
static const struct sock_filter refusals[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
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
    // A ring can do all of the above without these calls.
    REFUSE(__NR_io_uring_setup),
    REFUSE(__NR_ptrace),
    REFUSE(__NR_process_vm_readv),
    REFUSE(__NR_process_vm_writev),
    REFUSE(__NR_kill),
    REFUSE(__NR_tkill),
    REFUSE(__NR_pidfd_send_signal),
    REFUSE(__NR_setsid),
    REFUSE(__NR_setpgid),
    REFUSE(__NR_unshare),
    REFUSE(__NR_setns),
    REFUSE(__NR_mount),
    REFUSE(__NR_bpf),
    REFUSE(__NR_perf_event_open),
    REFUSE(__NR_userfaultfd),
    REFUSE(__NR_keyctl),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
#endif

static int limit(int resource, uint64_t soft, uint64_t hard) {
  struct rlimit value = {.rlim_cur = soft, .rlim_max = hard};
  return setrlimit((__rlimit_resource_t)resource, &value);
}

// Between fork and exec: only calls that POSIX allows there. Answers only with an error number.
static int become(
    const char *path, char *const arguments[], int input, int output, int report, const struct parley_process_limits *limits,
    pid_t parent) {
  if (setsid() < 0) return errno;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  // The parent may have ended before it was asked for.
  if (getppid() != parent) _exit(127);

  struct sigaction usual = {.sa_handler = SIG_DFL};
  for (int number = 1; number < NSIG; number++) sigaction(number, &usual, NULL);
  sigset_t none;
  sigemptyset(&none);
  if (sigprocmask(SIG_SETMASK, &none, NULL) != 0) return errno;

  // Above the places that they go to, so that none is overwritten before it was moved.
  input = fcntl(input, F_DUPFD, 8);
  output = fcntl(output, F_DUPFD, 8);
  report = fcntl(report, F_DUPFD, 8);
  if (input < 0 || output < 0 || report < 0) return errno;
  int nothing = open("/dev/null", O_WRONLY);
  if (nothing < 0) return errno;
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(nothing, 2) < 0) return errno;
  if (dup3(report, 3, O_CLOEXEC) < 0) return errno;
  if (syscall(SYS_close_range, 4u, ~0u, 0u) != 0) {
    struct rlimit open_files;
    if (getrlimit(RLIMIT_NOFILE, &open_files) != 0) return errno;
    for (rlim_t descriptor = 4; descriptor < open_files.rlim_cur; descriptor++) close((int)descriptor);
  }

  umask(077);
  if (chdir("/") != 0) return errno;
  if (limit(RLIMIT_AS, limits->memory, limits->memory) != 0) return errno;
  if (limit(RLIMIT_FSIZE, limits->file_size, limits->file_size) != 0) return errno;
  if (limit(RLIMIT_CPU, limits->cpu_seconds, limits->cpu_seconds + 1) != 0) return errno;
  if (limit(RLIMIT_NOFILE, limits->descriptors, limits->descriptors) != 0) return errno;
  if (limit(RLIMIT_CORE, 0, 0) != 0) return errno;
  // Whoever answers calls goes first.
  setpriority(PRIO_PROCESS, 0, 5);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
#ifdef OWN_ARCHITECTURE
  struct sock_fprog program = {
      .len = sizeof refusals / sizeof refusals[0], .filter = (struct sock_filter *)refusals};
  // A kernel without filters runs it without: what it is told on its command line forbids the network as well.
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0 && errno != EINVAL) return errno;
#endif
  char *empty[] = {NULL};
  execve(path, arguments, empty);
  return errno;
}

int parley_spawn_limited(
    const char *path, char *const arguments[], int input, int output, const struct parley_process_limits *limits, int *process) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return errno;
  pid_t parent = getpid();
  // No handler of ours may run in the child, which shares descriptors with us until it becomes the program.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t child = fork();
  if (child == 0) {
    int error = become(path, arguments, input, output, report[1], limits, parent);
    // The report is where it was before it was moved to 3, or at 3: one of them is open.
    if (write(report[1], &error, sizeof error) != sizeof error && write(3, &error, sizeof error) != sizeof error) _exit(126);
    _exit(127);
  }
  int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(report[1]);
  if (child < 0) {
    close(report[0]);
    return error;
  }
  ssize_t count;
  do {
    count = read(report[0], &error, sizeof error);
  } while (count < 0 && errno == EINTR);
  close(report[0]);
  if (count == 0) {
    *process = child;
    return 0;
  }
  if (count != sizeof error) error = EIO;
  int status;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
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

int parley_end_process(int process) {
  // The process is not reaped yet, so that its group's number is nobody else's.
  kill(-process, SIGKILL);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int parley_sealed_memory(const void *bytes, size_t count) {
  int descriptor = memfd_create("parley-input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return -1;
  const char *rest = bytes;
  while (count > 0) {
    ssize_t written = write(descriptor, rest, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) goto failed;
    rest += written;
    count -= (size_t)written;
  }
  if (lseek(descriptor, 0, SEEK_SET) != 0) goto failed;
  if (fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) goto failed;
  return descriptor;
failed:;
  int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}
