#include "calls.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

const CallKind call_kinds[KINDS] = {
    [UNARY] = {"unary", SERVICE "Echo", 0, 0, 0},
    [READ] = {"read", SERVICE "Read", 0, 0, 0},
    [FLOOD] = {"flood", SERVICE "Flood", 0, 1, 0},
    [FLOOD_SUSPENDING] = {"flood-suspending", SERVICE "FloodSuspending", 0, 1, 0},
    [DRAIN] = {"drain", SERVICE "Drain", 1, 0, 0},
    [PINGPONG] = {"pingpong", SERVICE "PingPong", 1, 1, 1},
    [GENERIC] = {"generic", NULL, 0, 0, 0},
};

static size_t put_varint(uint8_t *into, uint64_t value) {
  size_t count = 0;
  for (; value >= 0x80; value >>= 7) into[count++] = (uint8_t)(value | 0x80);
  into[count++] = (uint8_t)value;
  return count;
}

static size_t framed(uint8_t *into, size_t size) {
  uint32_t length = htonl((uint32_t)size);
  into[0] = 0;
  memcpy(into + 1, &length, 4);
  return PREFIX + size;
}

// Field 1 is the text, field 3 the sequence number; 0 is not on the wire.
static size_t echo(uint8_t *into, const char *text, size_t length, uint64_t sequence) {
  uint8_t *at = into + PREFIX;
  if (length) {
    *at++ = 0x0a;
    at += put_varint(at, length);
    memcpy(at, text, length);
    at += length;
  }
  if (sequence) {
    *at++ = 0x18;
    at += put_varint(at, sequence);
  }
  return framed(into, (size_t)(at - into) - PREFIX);
}

static size_t numbered(uint8_t *into, int64_t index) {
  static const uint8_t start[PREFIX + 2 + 56 + 1] = {0, 0, 0, 0, NUMBERED, 0x0a, 56,
    'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x',
    'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x',
    0x18};
  memcpy(into, start, sizeof start);
  uint64_t value = (uint64_t)(FIRST + index);
  for (int i = 0; i < 4; i++, value >>= 7) into[sizeof start + i] = (uint8_t)(value | 0x80);
  into[sizeof start + 4] = (uint8_t)value;
  return PREFIX + NUMBERED;
}

size_t request_message(enum Kind kind, int64_t index, int64_t count, uint8_t *into) {
  char text[24];
  switch (kind) {
  case READ: return echo(into, text, (size_t)snprintf(text, sizeof text, "%d", (int)(count % 10000 + 1)), 0);
  case FLOOD:
  case FLOOD_SUSPENDING: return echo(into, NULL, 0, (uint64_t)count);
  default: return numbered(into, index);
  }
}

size_t due_message(enum Kind kind, int64_t index, int64_t count, uint8_t *into) {
  char text[72];
  switch (kind) {
  case READ:
    snprintf(text, sizeof text, "%062d", (int)(count % 10000 + 1));
    for (char *at = text; *at == '0'; at++) *at = 'x';
    return echo(into, text, 62, 0);
  case DRAIN: { // the sum of all numbers, and how many there were
    uint64_t sum = (uint64_t)count * (uint64_t)FIRST + (uint64_t)count * (uint64_t)(count - 1) / 2;
    return echo(into, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)count), sum);
  }
  default: return numbered(into, index);
  }
}
