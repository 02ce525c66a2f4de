// A load client for streams: plain C on nghttp2 and epoll, one thread, HTTP/2 without TLS. It compares every byte that it gets
// with what is due, and costs less per message than any server measured with it.
//
//   streamload --port N --kind KIND [--connections 10] [--streams 10] [--messages 1000] [--calls C*S]
//       Every connection has so many calls open until all are made. Prints one line of JSON.
//   streamload --port N --mix unary=70,flood=10 --rate CALLS_PER_SECOND --seconds T [--report S] [--messages 50] ...
//       Calls begin by the clock, whatever became of those before; their time counts from when they were due. Prints a line of
//       JSON every S seconds and a last one with "total".
//   --path PATH --body FILE    what a call of kind `generic` asks, at most 155 bytes; its answer must have status 0, nothing
//       else is compared
//   --header "NAME: VALUE"     sent with each call
//   --bearers FILE             one token in a line: calls take turns with them
//
// KIND: see calls.c. Ends with 1 and says why when an answer is not what is due.

#define _GNU_SOURCE
#include "calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct Call {
  struct Call *next;
  struct Connection *connection;
  enum Kind kind;
  int64_t count, to_send, to_get, sent, allowed, got;
  size_t due_size, due_offset;
  uint8_t due[LONGEST];
  uint8_t rest[LONGEST]; // of a message for which the last frame had no room
  size_t rest_size, rest_offset;
  int http_ok, status_ok, deferred;
  uint64_t began; // ns
} Call;

typedef struct Connection {
  int fd, open, writable_wanted, dirty;
  nghttp2_session *session;
  uint8_t *output;
  size_t count, written, capacity;
} Connection;

// Times in a log-linear histogram: 32 buckets for each doubling, from 1 us.
#define BUCKETS (32 * 32)
typedef struct {
  uint64_t calls, messages, frames, bucket[BUCKETS], longest;
} Tally;

static const char *port, *generic_path, *extra_names[8], *extra_values[8];
static uint8_t generic_body[LONGEST];
static size_t generic_size;
static char **bearers;
static int connection_count = 10, stream_count = 10, extra_count, bearer_count, poller;
static int64_t message_count = 1000, call_total = -1, calls_made, calls_open;
static Connection *connections;
static Call *free_calls;
static Tally tally, total;
static enum Kind closed_kind = KINDS;

static void fail(const char *what, const char *detail) {
  fprintf(stderr, "streamload: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
  exit(1);
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void note(uint64_t ns) {
  uint64_t us = ns / 1000 + 1;
  int octave = 63 - __builtin_clzll(us);
  size_t index = octave < 5 ? us : (size_t)(octave - 4) * 32 + ((us >> (octave - 5)) - 32);
  if (index >= BUCKETS) index = BUCKETS - 1;
  tally.bucket[index]++;
  if (ns > tally.longest) tally.longest = ns;
}

static double quantile(const Tally *of, double part) {
  uint64_t all = 0, seen = 0;
  for (size_t i = 0; i < BUCKETS; i++) all += of->bucket[i];
  uint64_t wanted = (uint64_t)((double)all * part);
  for (size_t i = 0; i < BUCKETS; i++) {
    seen += of->bucket[i];
    if (seen > wanted) return i < 32 ? (double)i - 0.5 : ((double)(i % 32) + 32.5) * (double)(UINT64_C(1) << (i / 32 - 1));
  }
  return 0;
}

static void print(const Tally *of, double seconds, const char *label) {
  printf("{%s\"calls\": %llu, \"messages\": %llu, \"frames\": %llu, \"seconds\": %.6f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
         "\"max_us\": %.1f, \"open\": %lld}\n", label, (unsigned long long)of->calls, (unsigned long long)of->messages,
         (unsigned long long)of->frames, seconds, quantile(of, 0.5), quantile(of, 0.99), (double)of->longest / 1000,
         (long long)calls_open);
  fflush(stdout);
}

// MARK: calls

static nghttp2_nv field(const char *name, const char *value) {
  return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                      NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

static ssize_t read_requests(nghttp2_session *session, int32_t id, uint8_t *into, size_t capacity, uint32_t *flags,
                             nghttp2_data_source *source, void *user) {
  (void)session, (void)id, (void)user;
  Call *call = source->ptr;
  size_t count = 0;
  while (count < capacity) {
    if (call->rest_offset < call->rest_size) {
      size_t part = call->rest_size - call->rest_offset < capacity - count ? call->rest_size - call->rest_offset : capacity - count;
      memcpy(into + count, call->rest + call->rest_offset, part);
      call->rest_offset += part, count += part;
      continue;
    }
    if (call->sent == call->allowed) break;
    if (call->kind == GENERIC) memcpy(call->rest, generic_body, call->rest_size = generic_size), call->rest_offset = 0;
    else if (capacity - count >= LONGEST) count += request_message(call->kind, call->sent, call->count, into + count);
    else call->rest_size = request_message(call->kind, call->sent, call->count, call->rest), call->rest_offset = 0;
    call->sent++;
  }
  if (call->sent == call->to_send && call->rest_offset == call->rest_size) *flags |= NGHTTP2_DATA_FLAG_EOF;
  else if (count == 0) {
    call->deferred = 1;
    return NGHTTP2_ERR_DEFERRED;
  }
  return (ssize_t)count;
}

static void begin(Connection *connection, enum Kind kind, uint64_t due_at) {
  Call *call = free_calls;
  if (call) free_calls = call->next;
  else if (!(call = malloc(sizeof *call))) abort();
  *call = (Call){.connection = connection, .kind = kind, .began = due_at};
  const CallKind *of = &call_kinds[kind];
  call->count = of->sends_many || of->gets_many ? message_count : calls_made;
  call->to_send = of->sends_many ? message_count : 1;
  call->to_get = of->gets_many ? message_count : 1;
  call->allowed = of->waits ? 1 : call->to_send;
  size_t header_count = 7;
  nghttp2_nv headers[7 + 8 + 1] = {field(":method", "POST"), field(":scheme", "http"),
                               field(":path", kind == GENERIC ? generic_path : of->path), field(":authority", "localhost"),
                               field("content-type", "application/grpc"), field("te", "trailers"), field("grpc-timeout", "100S")};
  for (int i = 0; i < extra_count; i++) headers[header_count++] = field(extra_names[i], extra_values[i]);
  if (bearer_count) headers[header_count++] = field("authorization", bearers[calls_made % bearer_count]);
  nghttp2_data_provider provider = {.source.ptr = call, .read_callback = read_requests};
  if (nghttp2_submit_request(connection->session, NULL, headers, header_count, &provider, call) < 0) {
    fail("no more streams on a connection", NULL);
  }
  connection->dirty = 1;
  calls_made++, calls_open++;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                     const uint8_t *value, size_t length, uint8_t flags, void *user) {
  (void)flags, (void)user;
  Call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
  if (!call) return 0;
  if (name_length == 7 && !memcmp(name, ":status", 7)) call->http_ok = length == 3 && !memcmp(value, "200", 3);
  if (name_length == 11 && !memcmp(name, "grpc-status", 11)) call->status_ok = length == 1 && *value == '0';
  if (name_length == 12 && !memcmp(name, "grpc-message", 12) && length) fprintf(stderr, "streamload: %.*s\n", (int)length, value);
  return 0;
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t length, void *user) {
  (void)flags, (void)user;
  Call *call = nghttp2_session_get_stream_user_data(session, id);
  if (!call || call->kind == GENERIC) return 0;
  while (length) {
    if (!call->due_size) {
      if (call->got == call->to_get) fail("more messages than are due", call_kinds[call->kind].name);
      call->due_size = due_message(call->kind, call->got, call->count, call->due);
    }
    size_t part = call->due_size - call->due_offset < length ? call->due_size - call->due_offset : length;
    if (memcmp(call->due + call->due_offset, data, part)) fail("a message differs from what is due", call_kinds[call->kind].name);
    data += part, length -= part, call->due_offset += part;
    if (call->due_offset < call->due_size) break;
    call->due_size = call->due_offset = 0;
    call->got++;
    if (call->allowed < call->to_send) {
      call->allowed++;
      if (call->deferred) nghttp2_session_resume_data(session, id), call->deferred = 0;
    }
  }
  return 0;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
  (void)session, (void)user;
  if (frame->hd.type == NGHTTP2_DATA && frame->hd.length) tally.frames++;
  return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user) {
  (void)user;
  Call *call = nghttp2_session_get_stream_user_data(session, id);
  if (!call) return 0;
  if (code || !call->http_ok || !call->status_ok) fail("a call failed", call_kinds[call->kind].name);
  if (call->kind != GENERIC && (call->got != call->to_get || call->due_offset)) fail("messages are missing", call_kinds[call->kind].name);
  if (call->sent != call->to_send) fail("a call ended before it was asked to", call_kinds[call->kind].name);
  note(now() - call->began);
  tally.calls++;
  tally.messages += (uint64_t)(call->to_send > call->to_get ? call->to_send : call->to_get);
  Connection *connection = call->connection;
  call->next = free_calls;
  free_calls = call;
  calls_open--;
  if (closed_kind != KINDS && calls_made < call_total) begin(connection, closed_kind, now());
  return 0;
}

// MARK: connections

static ssize_t on_send(nghttp2_session *session, const uint8_t *bytes, size_t count, int flags, void *user) {
  (void)session, (void)flags;
  Connection *connection = user;
  if (connection->count >= 256u << 10) return NGHTTP2_ERR_WOULDBLOCK;
  if (connection->count + count > connection->capacity) {
    connection->capacity = (connection->count + count) * 2;
    if (!(connection->output = realloc(connection->output, connection->capacity))) abort();
  }
  memcpy(connection->output + connection->count, bytes, count);
  connection->count += count;
  return (ssize_t)count;
}

static void connection_flush(Connection *connection) {
  connection->dirty = 0;
  for (;;) {
    if (connection->written == connection->count) {
      connection->written = connection->count = 0;
      if (nghttp2_session_send(connection->session)) fail("nghttp2 cannot send", NULL);
      if (!connection->count) break;
    }
    ssize_t sent = send(connection->fd, connection->output + connection->written, connection->count - connection->written, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) fail("the connection broke", strerror(errno));
    if (sent > 0) connection->written += (size_t)sent;
    if (connection->written < connection->count) break;
  }
  int wanted = connection->written < connection->count;
  if (wanted != connection->writable_wanted) {
    struct epoll_event event = {.events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.ptr = connection};
    epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &event);
    connection->writable_wanted = wanted;
  }
}

static void connection_read(Connection *connection) {
  static uint8_t bytes[256 << 10];
  ssize_t count = recv(connection->fd, bytes, sizeof bytes, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) fail("the server closed a connection", count ? strerror(errno) : NULL);
  if (nghttp2_session_mem_recv(connection->session, bytes, (size_t)count) < 0) fail("the server broke the protocol", NULL);
  if (!nghttp2_session_want_read(connection->session)) fail("the server ended a connection", NULL);
  connection->dirty = 1;
}

static void connection_open(Connection *connection, nghttp2_session_callbacks *callbacks) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int on = 1;
  connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(connection->fd, (struct sockaddr *)&address, sizeof address)) fail("connect", strerror(errno));
  setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  nghttp2_session_client_new(&connection->session, callbacks, connection);
  nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20}};
  nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings, 2);
  nghttp2_session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE, 0, 16 << 20);
  connection->dirty = 1;
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  epoll_ctl(poller, EPOLL_CTL_ADD, connection->fd, &event);
}

// Waits for what the server has to say, at most until `deadline`, and handles it.
static void turn(uint64_t deadline) {
  struct epoll_event events[256];
  for (int i = 0; i < connection_count; i++) if (connections[i].dirty) connection_flush(&connections[i]);
  struct timespec wait = {0};
  uint64_t at = now();
  if (deadline > at) wait = (struct timespec){(time_t)((deadline - at) / 1000000000u), (long)((deadline - at) % 1000000000u)};
  int ready = epoll_pwait2(poller, events, 256, deadline == UINT64_MAX ? NULL : &wait, NULL);
  for (int i = 0; i < ready; i++) {
    Connection *connection = events[i].data.ptr;
    if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) connection_read(connection);
    connection->dirty = 1;
  }
}

// MARK: drivers

static void run_closed(void) {
  if (call_total < 0) call_total = (int64_t)connection_count * stream_count;
  uint64_t began = now();
  for (int s = 0; s < stream_count; s++) {
    for (int i = 0; i < connection_count && calls_made < call_total; i++) begin(&connections[i], closed_kind, began);
  }
  while (calls_open) turn(UINT64_MAX);
  print(&tally, (double)(now() - began) / 1e9, "");
}

static void add_up(void) {
  total.calls += tally.calls, total.messages += tally.messages, total.frames += tally.frames;
  if (tally.longest > total.longest) total.longest = tally.longest;
  for (size_t i = 0; i < BUCKETS; i++) total.bucket[i] += tally.bucket[i];
  memset(&tally, 0, sizeof tally);
}

// Kinds take turns by weight, spread evenly: each call goes to the kind that is furthest behind its share.
static enum Kind next_kind(const double *weights) {
  static double credit[KINDS];
  enum Kind best = UNARY;
  double sum = 0;
  for (int kind = 0; kind < KINDS; kind++) {
    credit[kind] += weights[kind], sum += weights[kind];
    if (credit[kind] > credit[best]) best = kind;
  }
  credit[best] -= sum;
  return best;
}

static void run_paced(char *mix, double rate, double seconds, double report) {
  double weights[KINDS] = {0};
  for (char *part = strtok(mix, ","); part; part = strtok(NULL, ",")) {
    char *equals = strchr(part, '=');
    int kind = 0;
    if (equals) *equals = 0;
    while (kind < KINDS && strcmp(part, call_kinds[kind].name)) kind++;
    if (kind == KINDS) fail("no such kind", part);
    weights[kind] = equals ? atof(equals + 1) : 1;
  }
  uint64_t began = now(), end = began + (uint64_t)(seconds * 1e9), next_report = began + (uint64_t)(report * 1e9), last = began;
  for (int64_t number = 0;; ) {
    uint64_t at = now();
    uint64_t due = began + (uint64_t)((double)number * 1e9 / rate);
    for (; due <= at && due < end; due = began + (uint64_t)((double)++number * 1e9 / rate)) {
      begin(&connections[number % connection_count], next_kind(weights), due);
    }
    if (at >= next_report) {
      print(&tally, (double)(at - last) / 1e9, "");
      add_up();
      last = at, next_report += (uint64_t)(report * 1e9);
    }
    if (at >= end && !calls_open) break;
    if (at >= end + 30000000000u) fail("calls are still open 30 s after the last began", NULL);
    turn(at >= end ? at + 100000000u : due < next_report ? due : next_report);
  }
  add_up();
  print(&total, (double)(now() - began) / 1e9, "\"total\": true, ");
}

static void read_body(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) fail("body", strerror(errno));
  generic_size = PREFIX + fread(generic_body + PREFIX, 1, sizeof generic_body - PREFIX, file);
  uint32_t length = htonl((uint32_t)generic_size - PREFIX);
  generic_body[0] = 0;
  memcpy(generic_body + 1, &length, 4);
  fclose(file);
}

static void read_bearers(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) fail("bearers", strerror(errno));
  for (char line[8192]; fgets(line, sizeof line, file);) {
    line[strcspn(line, "\n")] = 0;
    bearers = realloc(bearers, ((size_t)bearer_count + 1) * sizeof *bearers);
    if (!bearers || asprintf(&bearers[bearer_count++], "Bearer %s", line) < 0) abort();
  }
  fclose(file);
}

int main(int count, char **arguments) {
  char *mix = NULL;
  double rate = 1000, seconds = 10, report = 60;
  for (int i = 1; i + 1 < count; i += 2) {
    const char *name = arguments[i];
    char *value = arguments[i + 1];
    if (!strcmp(name, "--port")) port = value;
    else if (!strcmp(name, "--kind")) {
      for (closed_kind = 0; closed_kind < KINDS && strcmp(value, call_kinds[closed_kind].name); closed_kind++) {}
      if (closed_kind == KINDS) fail("no such kind", value);
    }
    else if (!strcmp(name, "--connections")) connection_count = atoi(value);
    else if (!strcmp(name, "--streams")) stream_count = atoi(value);
    else if (!strcmp(name, "--messages")) message_count = atoll(value);
    else if (!strcmp(name, "--calls")) call_total = atoll(value);
    else if (!strcmp(name, "--mix")) mix = value;
    else if (!strcmp(name, "--rate")) rate = atof(value);
    else if (!strcmp(name, "--seconds")) seconds = atof(value);
    else if (!strcmp(name, "--report")) report = atof(value);
    else if (!strcmp(name, "--path")) generic_path = value;
    else if (!strcmp(name, "--body")) read_body(value);
    else if (!strcmp(name, "--bearers")) read_bearers(value);
    else if (!strcmp(name, "--header") && extra_count < 8 && strstr(value, ": ")) {
      char *colon = strstr(value, ": ");
      *colon = 0;
      extra_names[extra_count] = value, extra_values[extra_count++] = colon + 2;
    }
    else fail("unknown option", name);
  }
  if (!port || (closed_kind == KINDS && !mix)) fail("--port and --kind or --mix are needed", NULL);

  nghttp2_session_callbacks *callbacks;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
  poller = epoll_create1(EPOLL_CLOEXEC);
  connections = calloc((size_t)connection_count, sizeof *connections);
  for (int i = 0; i < connection_count; i++) connection_open(&connections[i], callbacks);
  if (mix) run_paced(mix, rate, seconds, report);
  else run_closed();
  return 0;
}
