// The calls that the load client makes: what each sends, what it must get, byte for byte.
//
// The service is parley.testing.v1.EchoService of proto/parley/testing/v1/echo.proto with the methods that only the benchmarks
// have. A numbered message is 64 bytes: a text of 56 letters x and a sequence number, which counts from FIRST so that its varint
// always takes five bytes.

#ifndef PARLEY_STREAMLOAD_CALLS_H
#define PARLEY_STREAMLOAD_CALLS_H

#include <stddef.h>
#include <stdint.h>

#define SERVICE "/parley.testing.v1.EchoService/"
#define FIRST (INT64_C(1) << 28)
#define PREFIX 5
#define NUMBERED 64
#define LONGEST 160 // bytes of any one message with its prefix

enum Kind { UNARY, READ, FLOOD, FLOOD_SUSPENDING, DRAIN, PINGPONG, GENERIC, KINDS };

typedef struct {
  const char *name, *path;
  int sends_many, gets_many, waits; // `waits`: the next message is sent when the last was answered
} CallKind;

extern const CallKind call_kinds[KINDS];

// The message number `index` of a call of `count` messages, with its prefix, into at least LONGEST bytes. Returns its size.
size_t request_message(enum Kind kind, int64_t index, int64_t count, uint8_t *into);
// The same of what is due.
size_t due_message(enum Kind kind, int64_t index, int64_t count, uint8_t *into);

#endif
