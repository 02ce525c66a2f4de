// What Swift's Glibc module does not offer: epoll, thread-locals, GNU-only calls and macros with casts.
#ifndef PARLEY_SHIMS_SYSTEM_H
#define PARLEY_SHIMS_SYSTEM_H

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

/// The event loop that runs on this thread, or null.
void *parley_current_loop(void);
void parley_set_current_loop(void *loop);

/// accept4 (non-blocking, close-on-exec), a GNU extension that the Glibc module does not export.
/// `address` points to a `sockaddr_storage`, `length` to its size: declared without types so that those stay Glibc's.
int parley_accept(int listener, void *address, uint32_t *length);

/// Nanoseconds of CLOCK_MONOTONIC.
uint64_t parley_monotonic_nanoseconds(void);

/// Names the calling thread (at most 15 bytes), as `top -H` shows it.
void parley_name_thread(const char *name);

/// How many cores the affinity mask of this process allows, at least 1.
int parley_usable_cores(void);

#endif
