// Programs that are started with limits, and the memory that is their input.
#ifndef PARLEY_SHIMS_SUBPROCESS_H
#define PARLEY_SHIMS_SUBPROCESS_H

#include <stddef.h>
#include <stdint.h>

/// What a program may use.
struct parley_process_limits {
  /// Bytes of address space.
  uint64_t memory;
  /// Bytes of any file that it writes.
  uint64_t file_size;
  /// Seconds of CPU time.
  uint32_t cpu_seconds;
  /// Descriptors, the three standard ones included.
  uint32_t descriptors;
};

/// Starts a program in a session of its own, without environment, with `input` and `output` as its standard input and output and
/// nothing else open. It cannot use the network, begin, signal or limit another process, leave its process group or change a file, and is
/// killed when the calling thread ends.
/// Answers 0 once the program runs, or an error number; then no process is left.
int parley_spawn_limited(
    const char *path, char *const arguments[], int input, int output, const struct parley_process_limits *limits, int *process);

/// Makes a pipe that no other program inherits; its reading end does not block. Answers 0, or an error number.
int parley_make_pipe(int *reading, int *writing);

/// A descriptor that becomes readable when the process ends, or -1.
int parley_watch_process(int process);

/// Whether the process has ended; it is not reaped by this.
int parley_process_has_ended(int process);

/// Kills the process with its whole group and reaps it. Answers what waitpid told, and the CPU time that it has used.
int parley_end_process(int process, uint64_t *cpu_microseconds);

/// A descriptor of memory that is empty yet and no other program inherits, or -1 with errno.
int parley_make_memory(void);

/// Writes bytes behind those that are there. Answers 0, or an error number.
int parley_append_memory(int memory, const void *bytes, size_t count);

/// Sees to it that the memory can no longer be changed. Answers 0, or an error number.
int parley_seal_memory(int memory);

/// A descriptor of sealed memory for reading alone, at its beginning and with a place of its own; or -1 with errno.
int parley_open_memory(int memory);

#endif
