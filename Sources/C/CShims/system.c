#define _GNU_SOURCE
#include "shims_system.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/socket.h>
#include <time.h>

static _Thread_local void *current_loop = NULL;

void *parley_current_loop(void) { return current_loop; }
void parley_set_current_loop(void *loop) { current_loop = loop; }

int parley_accept(int listener, void *address, uint32_t *length) {
  return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

uint64_t parley_monotonic_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void parley_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int parley_usable_cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  int count = CPU_COUNT(&set);
  return count > 0 ? count : 1;
}
