// What Swift's Glibc module does not offer: thread-locals, variadic and GNU-only calls.
#ifndef PARLEY_SHIMS_SYSTEM_H
#define PARLEY_SHIMS_SYSTEM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/// The event loop that runs on this thread, or null.
void *parley_current_loop(void);
void parley_set_current_loop(void *loop);

/// accept4 is a GNU extension that the Glibc module does not export.
int parley_accept4(int descriptor, int flags);

#endif
