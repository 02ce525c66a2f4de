// Counts a process's memory allocations: preloaded (LD_PRELOAD), it adds each to the 64-bit number in the file that
// PARLEY_ALLOCATION_COUNT names, for whoever measures to read while the process runs. Works for whatever takes its memory from
// glibc's malloc, as Swift, C and C++ programs here do.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

static uint64_t before_start;
static uint64_t *counter = &before_start;

static void count(void) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("PARLEY_ALLOCATION_COUNT");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *shared = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (shared != MAP_FAILED) counter = shared;
}

void *malloc(size_t size) { return count(), __libc_malloc(size); }
void *calloc(size_t number, size_t size) { return count(), __libc_calloc(number, size); }
void *realloc(void *old, size_t size) { return count(), __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { return count(), __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **into, size_t alignment, size_t size) {
  void *memory = memalign(alignment, size);
  if (!memory) return ENOMEM;
  *into = memory;
  return 0;
}
