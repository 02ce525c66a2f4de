// What belongs to the process as a whole: its environment, and its end by signal.
#ifndef PARLEY_SHIMS_PROCESS_H
#define PARLEY_SHIMS_PROCESS_H

#include <stdint.h>

/// Catches SIGTERM and SIGINT and ignores SIGPIPE. The first signal makes `descriptor` (an eventfd) readable; the second ends
/// the process at once with 128 + its number, even if every thread is stuck. Answers 0, or an error number.
int parley_catch_termination(int descriptor);

/// Makes SIGHUP make `descriptor` (an eventfd) readable, each time; -1: it does nothing. Answers 0, or an error number.
int parley_catch_hangup(int descriptor);

/// The first signal that came, or 0.
int parley_termination_signal(void);

/// The environment, ended by NULL: `environ`, which Swift takes for unprotected shared state.
char **parley_environment(void);

/// Nanoseconds of CLOCK_REALTIME: since 1970-01-01T00:00:00Z.
int64_t parley_realtime_nanoseconds(void);

/// A non-blocking eventfd, or -1.
int parley_make_eventfd(void);

#endif
