// The streams of the C floor, with messages of 64 bytes as calls.c of the load client has them:
//
//   Flood: as many numbered messages as the request's sequence says, packed straight into nghttp2's frames.
//   FloodSuspending: the same, one message per turn of the event loop.
//   Drain: takes numbered messages; answers how many there were (text) and the sum of their numbers (sequence).
//   PingPong: sends every message back as it comes.

#include "cfloor.h"

#include <arpa/inet.h>
#include <stdio.h>

#define FIRST (INT64_C(1) << 28)
#define FRAMED 69

static char letters[57];

static size_t next_message(Stream *stream, Echo *message, uint8_t *into) {
  message->sequence = FIRST + stream->made++;
  uint32_t prefix = htonl((uint32_t)protobuf_c_message_get_packed_size(&message->base));
  into[0] = 0;
  memcpy(into + 1, &prefix, 4);
  return 5 + protobuf_c_message_pack(&message->base, into + 5);
}

static ssize_t read_flood(nghttp2_session *session, int32_t id, uint8_t *into, size_t capacity, uint32_t *flags,
                          nghttp2_data_source *source, void *user) {
  Stream *stream = source->ptr;
  size_t count = 0;
  int suspends = stream->method == FLOOD_SUSPENDING;
  Echo message;
  echo_init(&message.base);
  message.text = letters;
  while (count < capacity) {
    // What the last frame, or the peer's window, had no room for.
    size_t rest_of_one = stream->reply.count - stream->sent;
    if (rest_of_one) {
      size_t part = rest_of_one < capacity - count ? rest_of_one : capacity - count;
      memcpy(into + count, stream->reply.bytes + stream->sent, part);
      stream->sent += part, count += part;
      continue;
    }
    if (stream->made == stream->to_make || (suspends && stream->has_had_turn)) break;
    stream->has_had_turn = 1;
    if (capacity - count >= FRAMED) {
      count += next_message(stream, &message, into + count);
    } else {
      uint8_t bytes[2 * FRAMED];
      stream->reply.count = stream->sent = 0;
      buffer_append(&stream->reply, bytes, next_message(stream, &message, bytes));
    }
  }
  if (stream->made == stream->to_make && stream->sent == stream->reply.count) {
    return end_response(session, id, flags) ? NGHTTP2_ERR_CALLBACK_FAILURE : (ssize_t)count;
  }
  if (count) return (ssize_t)count;
  if (suspends && !stream->resting) rest(user, stream);
  return NGHTTP2_ERR_DEFERRED;
}

void wake_resting(Connection *connection) {
  Stream *stream = connection->resting;
  connection->resting = NULL;
  for (Stream *next; stream; stream = next) {
    next = stream->next_resting;
    stream->resting = 0;
    stream->has_had_turn = 0;
    nghttp2_session_resume_data(connection->session, stream->id);
  }
}

int flood(nghttp2_session *session, Stream *stream, int64_t count) {
  memset(letters, 'x', 56);
  stream->to_make = count;
  return respond(session, stream->id, stream, read_flood);
}

static ssize_t read_streamed(nghttp2_session *session, int32_t id, uint8_t *into, size_t capacity, uint32_t *flags,
                             nghttp2_data_source *source, void *user) {
  (void)user;
  Stream *stream = source->ptr;
  size_t count = stream->reply.count - stream->sent;
  int is_last = stream->ended && count <= capacity;
  if (count == 0 && !is_last) {
    stream->deferred = 1;
    return NGHTTP2_ERR_DEFERRED;
  }
  if (count > capacity) count = capacity;
  if (count) memcpy(into, stream->reply.bytes + stream->sent, count);
  stream->sent += count;
  if (stream->sent == stream->reply.count) stream->sent = stream->reply.count = 0;
  if (is_last && end_response(session, id, flags)) return NGHTTP2_ERR_CALLBACK_FAILURE;
  return (ssize_t)count;
}

int streamed(nghttp2_session *session, Stream *stream) {
  uint32_t length;
  int whole;
  while ((whole = whole_message(stream->request.bytes + stream->taken, stream->request.count - stream->taken, &length)) == 1) {
    Echo *request = (Echo *)protobuf_c_message_unpack(&echo_descriptor, NULL, length, stream->request.bytes + stream->taken + 5);
    if (!request) return refuse(session, stream->id, "3", "malformed message");
    stream->taken += length + 5;
    stream->count++;
    stream->sum += request->sequence;
    if (stream->method == PINGPONG) append_message(&stream->reply, request);
    protobuf_c_message_free_unpacked(&request->base, NULL);
  }
  if (whole < 0) return refuse(session, stream->id, "13", "malformed frame");
  // What is left is the start of a message: it moves to the front.
  memmove(stream->request.bytes, stream->request.bytes + stream->taken, stream->request.count - stream->taken);
  stream->request.count -= stream->taken;
  stream->taken = 0;
  if (stream->method == DRAIN && stream->ended) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)stream->count);
    Echo reply;
    echo_init(&reply.base);
    reply.text = text;
    reply.sequence = stream->sum;
    append_message(&stream->reply, &reply);
  }
  if (!stream->answered && (stream->reply.count || stream->ended)) {
    stream->answered = 1;
    return respond(session, stream->id, stream, read_streamed);
  }
  if (stream->deferred) {
    stream->deferred = 0;
    return nghttp2_session_resume_data(session, stream->id);
  }
  return 0;
}
