// Termination by signal: the first asks for a drain, the second ends the process where it stands.
#ifndef PARLEY_SHIMS_SIGNALS_H
#define PARLEY_SHIMS_SIGNALS_H

/// Catches SIGTERM and SIGINT and ignores SIGPIPE. The first signal makes `descriptor` (an eventfd) readable; the second ends
/// the process at once with 128 + its number, even if every thread is stuck. Answers 0, or an error number.
int parley_catch_termination(int descriptor);

/// The first signal that came, or 0.
int parley_termination_signal(void);

/// A non-blocking eventfd, or -1.
int parley_make_eventfd(void);

#endif
