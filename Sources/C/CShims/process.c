#include "shims_process.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static atomic_int first_signal;
static atomic_int wake_descriptor = -1;
static atomic_int reload_descriptor = -1;

static void terminated(int number) {
  int none = 0;
  int saved = errno;
  // Only calls that POSIX allows in a handler.
  if (!atomic_compare_exchange_strong(&first_signal, &none, number)) _exit(128 + number);
  uint64_t one = 1;
  ssize_t written = write(atomic_load(&wake_descriptor), &one, sizeof one);
  (void)written;
  errno = saved;
}

int parley_catch_termination(int descriptor) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  sigemptyset(&action.sa_mask);
  action.sa_handler = SIG_IGN;
  if (sigaction(SIGPIPE, &action, NULL) != 0) return errno;
  atomic_store(&wake_descriptor, descriptor);
  action.sa_handler = terminated;
  action.sa_flags = SA_RESTART;
  if (sigaction(SIGTERM, &action, NULL) != 0 || sigaction(SIGINT, &action, NULL) != 0) return errno;
  return 0;
}

static void hung_up(int number) {
  (void)number;
  int saved = errno;
  int descriptor = atomic_load(&reload_descriptor);
  uint64_t one = 1;
  if (descriptor >= 0) {
    ssize_t written = write(descriptor, &one, sizeof one);
    (void)written;
  }
  errno = saved;
}

int parley_catch_hangup(int descriptor) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  sigemptyset(&action.sa_mask);
  action.sa_handler = hung_up;
  action.sa_flags = SA_RESTART;
  atomic_store(&reload_descriptor, descriptor);
  return sigaction(SIGHUP, &action, NULL) == 0 ? 0 : errno;
}

int parley_termination_signal(void) { return atomic_load(&first_signal); }

int parley_make_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int64_t parley_realtime_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

char **parley_environment(void) { return environ; }
