// The C floor: a plain C server on nghttp2, epoll and protobuf-c that does the work of one unary gRPC echo and nothing else. It is
// what this machine's libraries cost without a runtime around them, measured beside ours in the same run.
//
//   cfloor --port 0 --port-file FILE
//
// One thread, HTTP/2 without TLS. Of /parley.testing.v1.EchoService: Echo, the message of proto/parley/testing/v1/echo.proto (text,
// body, sequence) in, the same out; Upload, which answers with the size of the body; and the streams of streams.c.
// Memory comes from malloc, requests are checked as a gRPC server must (path, content type, deadline, frame, message).

#define _GNU_SOURCE
#include "cfloor.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIELD(field, number, kind) \
  {.name = #field, .id = number, .label = PROTOBUF_C_LABEL_NONE, .type = PROTOBUF_C_TYPE_##kind, .offset = offsetof(Echo, field)}
static const ProtobufCFieldDescriptor echo_fields[3] = {
    {.name = "text", .id = 1, .label = PROTOBUF_C_LABEL_NONE, .type = PROTOBUF_C_TYPE_STRING, .offset = offsetof(Echo, text),
     .default_value = &protobuf_c_empty_string},
    FIELD(body, 2, BYTES), FIELD(sequence, 3, INT64)};
static const unsigned echo_by_name[3] = {1, 2, 0};
static const ProtobufCIntRange echo_ranges[2] = {{1, 0}, {0, 3}};
const ProtobufCMessageDescriptor echo_descriptor = {
    .magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC, .name = "Echo", .short_name = "Echo", .c_name = "Echo",
    .package_name = "", .sizeof_message = sizeof(Echo), .n_fields = 3, .fields = echo_fields,
    .fields_sorted_by_name = echo_by_name, .n_field_ranges = 1, .field_ranges = echo_ranges, .message_init = echo_init,
};
void echo_init(ProtobufCMessage *message) {
  *(Echo *)message = (Echo){.base = PROTOBUF_C_MESSAGE_INIT(&echo_descriptor), .text = (char *)protobuf_c_empty_string};
}

void buffer_append(Buffer *buffer, const void *bytes, size_t count) {
  if (buffer->count + count > buffer->capacity) {
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity < buffer->count + count) capacity *= 2;
    buffer->bytes = realloc(buffer->bytes, capacity);
    if (!buffer->bytes) abort();
    buffer->capacity = capacity;
  }
  memcpy(buffer->bytes + buffer->count, bytes, count);
  buffer->count += count;
}

static int poller;
static Connection *resting_connections;

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
  (void)user;
  if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
    Stream *stream = calloc(1, sizeof(Stream));
    if (!stream) return NGHTTP2_ERR_CALLBACK_FAILURE;
    stream->id = frame->hd.stream_id;
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
  }
  return 0;
}

static Method method_of(const uint8_t *path, size_t length) {
  static const struct { const char *name; Method method; } methods[] = {
      {"Echo", ECHO}, {"Upload", UPLOAD}, {"Flood", FLOOD}, {"FloodSuspending", FLOOD_SUSPENDING}, {"Drain", DRAIN}, {"PingPong", PINGPONG}};
  size_t start = sizeof(SERVICE) - 1;
  if (length <= start || memcmp(path, SERVICE, start)) return UNKNOWN;
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    if (length - start == strlen(methods[i].name) && !memcmp(path + start, methods[i].name, length - start)) return methods[i].method;
  }
  return UNKNOWN;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                     const uint8_t *value, size_t value_length, uint8_t flags, void *user) {
  (void)flags, (void)user;
  Stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
  if (!stream) return 0;
  if (name_length == 5 && !memcmp(name, ":path", 5)) {
    stream->method = method_of(value, value_length);
  } else if (name_length == 12 && !memcmp(name, "content-type", 12)) {
    stream->grpc_content = value_length >= 16 && !memcmp(value, "application/grpc", 16);
  } else if (name_length == 12 && !memcmp(name, "grpc-timeout", 12)) {
    uint64_t amount = 0;
    for (size_t i = 0; i + 1 < value_length && i < 8 && value[i] >= '0' && value[i] <= '9'; i++) amount = amount * 10 + (value[i] - '0');
    stream->timeout_set = amount > 0;
  }
  return 0;
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t length, void *user) {
  (void)flags, (void)user;
  Stream *stream = nghttp2_session_get_stream_user_data(session, id);
  if (!stream) return 0;
  if (stream->request.count - stream->taken + length > MAX_MESSAGE + 5) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  buffer_append(&stream->request, data, length);
  return stream->method >= DRAIN ? streamed(session, stream) : 0;
}

int end_response(nghttp2_session *session, int32_t id, uint32_t *flags) {
  *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
  nghttp2_nv trailers[] = {field("grpc-status", "0")};
  return nghttp2_submit_trailer(session, id, trailers, 1);
}

static ssize_t read_reply(nghttp2_session *session, int32_t id, uint8_t *into, size_t capacity, uint32_t *flags,
                          nghttp2_data_source *source, void *user) {
  (void)user;
  Stream *stream = source->ptr;
  size_t count = stream->reply.count - stream->sent;
  if (count > capacity) count = capacity;
  memcpy(into, stream->reply.bytes + stream->sent, count);
  stream->sent += count;
  if (stream->sent == stream->reply.count && end_response(session, id, flags)) return NGHTTP2_ERR_CALLBACK_FAILURE;
  return (ssize_t)count;
}

int refuse(nghttp2_session *session, int32_t id, const char *status, const char *message) {
  nghttp2_nv headers[] = {field(":status", "200"), field("content-type", "application/grpc"), field("grpc-status", status),
                          field("grpc-message", message)};
  return nghttp2_submit_response(session, id, headers, 4, NULL);
}

int whole_message(const uint8_t *bytes, size_t count, uint32_t *length) {
  if (count < 5) return 0;
  if (bytes[0] != 0) return -1;
  memcpy(length, bytes + 1, 4);
  *length = ntohl(*length);
  return *length > MAX_MESSAGE ? -1 : *length <= count - 5;
}

int respond(nghttp2_session *session, int32_t id, Stream *stream, nghttp2_data_source_read_callback read) {
  nghttp2_nv headers[] = {field(":status", "200"), field("content-type", "application/grpc")};
  nghttp2_data_provider provider = {.source.ptr = stream, .read_callback = read};
  return nghttp2_submit_response(session, id, headers, 2, &provider);
}

void append_message(Buffer *buffer, const Echo *message) {
  size_t size = protobuf_c_message_get_packed_size(&message->base);
  if (buffer->count + size + 5 > buffer->capacity) {
    buffer->capacity = (buffer->count + size + 5) * (buffer->count ? 2 : 1);
    if (!(buffer->bytes = realloc(buffer->bytes, buffer->capacity))) abort();
  }
  uint8_t *at = buffer->bytes + buffer->count;
  uint32_t prefix = htonl((uint32_t)size);
  at[0] = 0;
  memcpy(at + 1, &prefix, 4);
  buffer->count += 5 + protobuf_c_message_pack(&message->base, at + 5);
}

static int answer(nghttp2_session *session, int32_t id, Stream *stream) {
  if (!stream->grpc_content) {
    nghttp2_nv headers[] = {field(":status", "415")};
    return nghttp2_submit_response(session, id, headers, 1, NULL);
  }
  if (!stream->method) return refuse(session, id, "12", "unknown method");
  uint32_t length;
  if (whole_message(stream->request.bytes, stream->request.count, &length) != 1 || length != stream->request.count - 5) {
    return refuse(session, id, "13", "malformed frame");
  }
  Echo *request = (Echo *)protobuf_c_message_unpack(&echo_descriptor, NULL, length, stream->request.bytes + 5);
  if (!request) return refuse(session, id, "3", "malformed message");
  int64_t sequence = request->sequence;
  Echo reply;
  echo_init(&reply.base);
  if (stream->method == ECHO) reply.text = request->text, reply.body = request->body, reply.sequence = sequence;
  if (stream->method == UPLOAD) reply.sequence = (int64_t)request->body.len;
  int streams = stream->method == FLOOD || stream->method == FLOOD_SUSPENDING;
  if (!streams) append_message(&stream->reply, &reply);
  protobuf_c_message_free_unpacked(&request->base, NULL);
  return streams ? flood(session, stream, sequence) : respond(session, id, stream, read_reply);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
  (void)user;
  if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) && frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
    Stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!stream) return 0;
    stream->ended = 1;
    int failed = stream->method >= DRAIN && stream->grpc_content ? streamed(session, stream) : answer(session, stream->id, stream);
    if (failed) return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user) {
  (void)code;
  Stream *stream = nghttp2_session_get_stream_user_data(session, id);
  if (stream) {
    if (stream->resting) {
      Stream **at = &((Connection *)user)->resting;
      while (*at != stream) at = &(*at)->next_resting;
      *at = stream->next_resting;
    }
    free(stream->request.bytes);
    free(stream->reply.bytes);
    free(stream);
  }
  return 0;
}

static nghttp2_session_callbacks *callbacks;
static nghttp2_option *options;

static void connection_open(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Connection *connection = calloc(1, sizeof(Connection));
  if (!connection) abort();
  connection->fd = fd;
  if (nghttp2_session_server_new2(&connection->session, callbacks, connection, options)) abort();
  nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1024}};
  nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings, 1);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

void rest(Connection *connection, Stream *stream) {
  stream->resting = 1;
  stream->next_resting = connection->resting;
  connection->resting = stream;
  if (connection->is_resting) return;
  connection->is_resting = 1;
  connection->next_resting = resting_connections;
  resting_connections = connection;
}

static void connection_close(Connection *connection) {
  Connection **at = &resting_connections;
  while (*at && *at != connection) at = &(*at)->next_resting;
  if (*at) *at = connection->next_resting;
  close(connection->fd);
  nghttp2_session_del(connection->session);
  free(connection->output.bytes);
  free(connection);
}

// Gathers all that the session wants to send and writes it at once. Returns -1 when the connection is over.
static int connection_flush(Connection *connection) {
  for (;;) {
    if (connection->written == connection->output.count) {
      connection->written = connection->output.count = 0;
      while (connection->output.count < (64u << 10)) {
        const uint8_t *bytes;
        ssize_t count = nghttp2_session_mem_send(connection->session, &bytes);
        if (count < 0) return -1;
        if (count == 0) break;
        buffer_append(&connection->output, bytes, (size_t)count);
      }
      if (connection->output.count == 0) break;
    }
    ssize_t count = send(connection->fd, connection->output.bytes + connection->written,
                         connection->output.count - connection->written, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN) return -1;
    if (count > 0) connection->written += (size_t)count;
    if (connection->written < connection->output.count) break;
  }
  int wanted = connection->written < connection->output.count;
  if (wanted != connection->writable_wanted) {
    struct epoll_event event = {.events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.ptr = connection};
    epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &event);
    connection->writable_wanted = wanted;
  }
  if (!wanted && !nghttp2_session_want_read(connection->session) && !nghttp2_session_want_write(connection->session)) return -1;
  return 0;
}

static int connection_read(Connection *connection) {
  static uint8_t bytes[128 << 10];
  ssize_t count = recv(connection->fd, bytes, sizeof bytes, 0);
  if (count == 0) return -1;
  if (count < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
  return nghttp2_session_mem_recv(connection->session, bytes, (size_t)count) < 0 ? -1 : 0;
}

static volatile sig_atomic_t ending;
static void end(int signal) { (void)signal, ending = 1; }

int main(int count, char **arguments) {
  int port = 0;
  const char *port_file = NULL;
  for (int i = 1; i + 1 < count; i += 2) {
    if (!strcmp(arguments[i], "--port")) port = atoi(arguments[i + 1]);
    else if (!strcmp(arguments[i], "--port-file")) port_file = arguments[i + 1];
    else return fprintf(stderr, "cfloor: unknown option %s\n", arguments[i]), 64;
  }
  struct sigaction action = {.sa_handler = end};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  // Signals arrive only while epoll_pwait waits, so that none is lost between the test of `ending` and the wait.
  sigset_t blocked, usual;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGINT);
  sigprocmask(SIG_BLOCK, &blocked, &usual);

  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
  nghttp2_option_new(&options);
  // Closed streams are not kept: only browsers' priority trees need them.
  nghttp2_option_set_no_closed_streams(options, 1);

  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 4096) ||
      getsockname(listener, (struct sockaddr *)&address, &length)) {
    return perror("cfloor: listen"), 69;
  }
  if (port_file) {
    FILE *file = fopen(port_file, "w");
    if (!file || fprintf(file, "%d\n", ntohs(address.sin_port)) < 0 || fclose(file)) return perror("cfloor: port file"), 73;
  }

  poller = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[256];
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
  while (!ending) {
    int ready = epoll_pwait(poller, events, 256, resting_connections ? 0 : -1, &usual);
    for (int i = 0; i < ready; i++) {
      Connection *connection = events[i].data.ptr;
      if (!connection) {
        int fd;
        while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) connection_open(fd);
        continue;
      }
      int over = events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR) ? connection_read(connection) : 0;
      if (over || connection_flush(connection)) connection_close(connection);
    }
    Connection *connection = resting_connections, *next;
    for (resting_connections = NULL; connection; connection = next) {
      next = connection->next_resting;
      connection->is_resting = 0;
      wake_resting(connection);
      if (connection_flush(connection)) connection_close(connection);
    }
  }
  return 0;
}
