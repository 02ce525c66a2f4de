// What the two parts of the C floor share: the message, and what is known of a stream and of a connection.

#ifndef PARLEY_CFLOOR_H
#define PARLEY_CFLOOR_H

#include <nghttp2/nghttp2.h>
#include <protobuf-c/protobuf-c.h>
#include <stdint.h>
#include <string.h>

#define SERVICE "/parley.testing.v1.EchoService/"
#define MAX_MESSAGE (4u << 20)

typedef enum { UNKNOWN, ECHO, UPLOAD, FLOOD, FLOOD_SUSPENDING, DRAIN, PINGPONG } Method;

// What protoc-c would generate for EchoRequest, and for EchoResponse, which has the same fields.
typedef struct {
  ProtobufCMessage base;
  char *text;
  ProtobufCBinaryData body;
  int64_t sequence;
} Echo;

extern const ProtobufCMessageDescriptor echo_descriptor;
void echo_init(ProtobufCMessage *message);

typedef struct {
  uint8_t *bytes;
  size_t count, capacity;
} Buffer;

void buffer_append(Buffer *buffer, const void *bytes, size_t count);

typedef struct Stream {
  struct Stream *next_resting;
  Buffer request, reply;
  size_t taken, sent;
  int id, grpc_content, timeout_set, answered, ended, deferred, resting, has_had_turn;
  Method method;
  int64_t made, to_make; // messages of a streamed response
  int64_t count, sum;    // messages of a streamed request, and the sum of their numbers
} Stream;

typedef struct Connection {
  struct Connection *next_resting;
  int fd, writable_wanted;
  nghttp2_session *session;
  Buffer output;
  size_t written;
  Stream *resting; // streams that have given up the rest of their turn
  int is_resting;
} Connection;

static inline nghttp2_nv field(const char *name, const char *value) {
  return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                      NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

int refuse(nghttp2_session *session, int32_t id, const char *status, const char *message);
// The message at `bytes` with its prefix: 1 when it is whole, 0 when more must come, -1 when it is none.
int whole_message(const uint8_t *bytes, size_t count, uint32_t *length);
// Begins a response whose DATA comes from `read`.
int respond(nghttp2_session *session, int32_t id, Stream *stream, nghttp2_data_source_read_callback read);
// Appends a message with its prefix.
void append_message(Buffer *buffer, const Echo *message);
// Ends a response with status 0, when all its DATA is out.
int end_response(nghttp2_session *session, int32_t id, uint32_t *flags);

// streams.c: called with each piece of a streamed request, and when it ends.
int streamed(nghttp2_session *session, Stream *stream);
int flood(nghttp2_session *session, Stream *stream, int64_t count);
// Gives the streams that rest their next turn.
void wake_resting(Connection *connection);
// cfloor.c: has a connection's resting streams woken in the next turn.
void rest(Connection *connection, Stream *stream);

#endif
