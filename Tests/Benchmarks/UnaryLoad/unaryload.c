// A load client for unary calls: plain C on epoll, one thread, HTTP/2 without TLS. Unlike nghttp2's own clients it puts every request
// header into the table of header compression, `authorization` included, as the gRPC clients of Go and Java do: from a connection's
// second call on a request's headers are a few bytes, so what is measured is the server's work on a call and not the spelling of a token.
//
//   unaryload --port N --path PATH --body FILE --reply FILE [--calls 100000] [--connections 10] [--streams 100]
//             [--header "NAME: VALUE"]...
//
// A FILE is a message. Each answer must be a 200 with status 0 that is the reply byte for byte, or the program ends with 1 and says why.
// Prints {"calls": N, "seconds": S}. Responses are unpacked by nghttp2's inflater.

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

enum { FRAME_HEAD = 9, LARGEST = 1 << 14, MOST_STREAMS = 1024, HEADERS_AT_MOST = 16 };
enum { DATA = 0, HEADERS = 1, RESET = 3, SETTINGS = 4, PING = 6, GOAWAY = 7, WINDOW = 8, CONTINUATION = 9 };

typedef struct {
  int is_open, is_ok, has_status;
  size_t got;
} Stream;

typedef struct {
  int fd;
  uint32_t next;              // stream
  int open, has_table;        // calls under way; whether the table of headers is filled
  int64_t window;             // bytes that the server still takes
  nghttp2_hd_inflater *inflater;
  Stream streams[MOST_STREAMS];
  uint8_t in[1 << 17], out[1 << 17];
  size_t in_count, out_count, out_sent;
} Connection;

static uint8_t body[LARGEST], reply[LARGEST], first_block[LARGEST], next_block[64];
static size_t body_count, reply_count, first_count, next_count;
static int connection_count = 10, stream_count = 100, poller;
static int64_t call_total = 100000, calls_begun, calls_done;

static void fail(const char *what, const char *detail) {
  fprintf(stderr, "unaryload: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
  exit(1);
}

// MARK: Request headers

static void put_number(uint8_t *to, size_t *at, uint8_t pattern, int bits, size_t number) {
  size_t most = ((size_t)1 << bits) - 1;
  if (number < most) { to[(*at)++] = pattern | (uint8_t)number; return; }
  to[(*at)++] = pattern | (uint8_t)most;
  for (number -= most; number >= 128; number >>= 7) to[(*at)++] = (uint8_t)(number & 127) | 128;
  to[(*at)++] = (uint8_t)number;
}

static void put_text(const char *text) {
  size_t count = strlen(text);
  if (first_count + count + 8 > sizeof first_block) fail("headers are too long", NULL);
  put_number(first_block, &first_count, 0, 7, count); // not Huffman coded
  memcpy(first_block + first_count, text, count);
  first_count += count;
}

static int inserted;

// A field that is added to the table, by the place of its name in the static one, or 0.
static void put_field(size_t place, const char *name, const char *value) {
  put_number(first_block, &first_count, 0x40, 6, place);
  if (!place) put_text(name);
  put_text(value);
  inserted++;
}

static void build_blocks(const char *path, char **names, char **values, int count) {
  first_block[first_count++] = next_block[next_count++] = 0x83; // :method POST
  first_block[first_count++] = next_block[next_count++] = 0x86; // :scheme http
  put_field(4, NULL, path);
  put_field(1, NULL, "localhost");
  put_field(31, NULL, "application/grpc");
  put_field(0, "te", "trailers");
  put_field(0, "grpc-timeout", "5S");
  for (int i = 0; i < count; i++) put_field(!strcmp(names[i], "authorization") ? 23 : 0, names[i], values[i]);
  // The newest entry is 62, the oldest comes last.
  for (int i = 0; i < inserted; i++) put_number(next_block, &next_count, 0x80, 7, (size_t)(62 + inserted - 1 - i));
}

// MARK: Frames

static void put_head(Connection *c, size_t count, int type, int flags, uint32_t stream) {
  uint8_t *to = c->out + c->out_count;
  to[0] = (uint8_t)(count >> 16), to[1] = (uint8_t)(count >> 8), to[2] = (uint8_t)count, to[3] = (uint8_t)type, to[4] = (uint8_t)flags;
  stream = htonl(stream);
  memcpy(to + 5, &stream, 4);
  c->out_count += FRAME_HEAD;
}

static void put_bytes(Connection *c, const void *bytes, size_t count) {
  memcpy(c->out + c->out_count, bytes, count);
  c->out_count += count;
}

static void begin_calls(Connection *c) {
  while (c->open < stream_count && calls_begun < call_total && c->window >= (int64_t)body_count
         && sizeof c->out - c->out_count > first_count + body_count + 64) {
    uint32_t stream = c->next;
    c->next += 2;
    Stream *s = &c->streams[(stream >> 1) % MOST_STREAMS];
    if (s->is_open) fail("a stream stays open for too long", NULL);
    *s = (Stream){.is_open = 1};
    const uint8_t *block = c->has_table ? next_block : first_block;
    size_t count = c->has_table ? next_count : first_count;
    c->has_table = 1;
    put_head(c, count, HEADERS, 4, stream);
    put_bytes(c, block, count);
    put_head(c, body_count, DATA, 1, stream);
    put_bytes(c, body, body_count);
    c->window -= (int64_t)body_count;
    c->open++, calls_begun++;
  }
}

static void on_headers(Connection *c, Stream *s, const uint8_t *bytes, size_t count) {
  for (;;) {
    nghttp2_nv field;
    int flags = 0;
    ssize_t used = nghttp2_hd_inflate_hd2(c->inflater, &field, &flags, bytes, count, 1);
    if (used < 0) fail("headers", nghttp2_strerror((int)used));
    bytes += used, count -= (size_t)used;
    if (flags & NGHTTP2_HD_INFLATE_EMIT) {
      if (field.namelen == 7 && !memcmp(field.name, ":status", 7)) s->is_ok = field.valuelen == 3 && !memcmp(field.value, "200", 3);
      if (field.namelen == 11 && !memcmp(field.name, "grpc-status", 11)) s->has_status = field.valuelen == 1 && *field.value == '0';
    }
    if (flags & NGHTTP2_HD_INFLATE_FINAL) { nghttp2_hd_inflate_end_headers(c->inflater); return; }
    if (!(flags & NGHTTP2_HD_INFLATE_EMIT) && !count) return;
  }
}

static void on_frame(Connection *c, int type, int flags, uint32_t stream, const uint8_t *payload, size_t count) {
  Stream *s = &c->streams[(stream >> 1) % MOST_STREAMS];
  switch (type) {
  case HEADERS:
    if (!(flags & 4) || flags & 0x28) fail("headers in pieces", NULL);
    on_headers(c, s, payload, count);
    break;
  case DATA:
    if (s->got + count > reply_count || memcmp(reply + s->got, payload, count)) fail("an answer is another than is due", NULL);
    s->got += count;
    break;
  case SETTINGS:
    if (!(flags & 1)) put_head(c, 0, SETTINGS, 1, 0);
    break;
  case PING:
    if (!(flags & 1)) { put_head(c, 8, PING, 1, 0); put_bytes(c, payload, 8); }
    break;
  case WINDOW:
    if (!stream) { uint32_t more; memcpy(&more, payload, 4); c->window += ntohl(more) & 0x7fffffff; }
    break;
  case RESET: case GOAWAY: case CONTINUATION: fail("the server ended a call or the connection", NULL);
  }
  if ((type == HEADERS || type == DATA) && flags & 1) {
    if (!s->is_open || !s->is_ok || !s->has_status || s->got != reply_count) fail("an answer is not what is due", NULL);
    s->is_open = 0;
    c->open--, calls_done++;
  }
}

// MARK: Sockets

static void flush_out(Connection *c) {
  while (c->out_sent < c->out_count) {
    ssize_t sent = send(c->fd, c->out + c->out_sent, c->out_count - c->out_sent, MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) break;
    if (sent <= 0) fail("send", strerror(errno));
    c->out_sent += (size_t)sent;
  }
  int waits = c->out_sent < c->out_count;
  if (!waits) c->out_sent = c->out_count = 0;
  struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0), .data.ptr = c};
  epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
}

static void read_in(Connection *c) {
  ssize_t count = recv(c->fd, c->in + c->in_count, sizeof c->in - c->in_count, 0);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) fail("the server closed the connection", count ? strerror(errno) : NULL);
  c->in_count += (size_t)count;
  size_t at = 0;
  while (c->in_count - at >= FRAME_HEAD) {
    const uint8_t *head = c->in + at;
    size_t size = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
    if (size > LARGEST) fail("a frame is too large", NULL);
    if (c->in_count - at < FRAME_HEAD + size) break;
    uint32_t stream;
    memcpy(&stream, head + 5, 4);
    on_frame(c, head[3], head[4], ntohl(stream) & 0x7fffffff, head + FRAME_HEAD, size);
    at += FRAME_HEAD + size;
  }
  memmove(c->in, c->in + at, c->in_count - at);
  c->in_count -= at;
}

static void open_connection(Connection *c, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(c->fd, (struct sockaddr *)&address, sizeof address)) fail("connect", strerror(errno));
  int one = 1;
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
  epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event);
  nghttp2_hd_inflate_new(&c->inflater);
  c->next = 1, c->window = 65535;
  put_bytes(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
  put_head(c, 6, SETTINGS, 0, 0);
  put_bytes(c, "\0\4\0\x10\0\0", 6); // 1 MiB for each stream
  put_head(c, 4, WINDOW, 0, 0);
  put_bytes(c, "\x7f\xff\0\0", 4);
}

// A file's message with the prefix of its length.
static size_t read_message(const char *name, uint8_t *into) {
  FILE *file = fopen(name, "rb");
  if (!file) fail(name, strerror(errno));
  size_t size = fread(into + 5, 1, LARGEST - 5, file);
  fclose(file);
  uint32_t length = htonl((uint32_t)size);
  memcpy(into + 1, &length, 4);
  return size + 5;
}

int main(int count, char **arguments) {
  int port = 0, header_count = 0;
  const char *path = NULL, *body_file = NULL, *reply_file = NULL;
  char *names[HEADERS_AT_MOST], *values[HEADERS_AT_MOST];
  for (int i = 1; i + 1 < count; i += 2) {
    char *name = arguments[i], *value = arguments[i + 1], *colon;
    if (!strcmp(name, "--port")) port = atoi(value);
    else if (!strcmp(name, "--path")) path = value;
    else if (!strcmp(name, "--body")) body_file = value;
    else if (!strcmp(name, "--reply")) reply_file = value;
    else if (!strcmp(name, "--calls")) call_total = atoll(value);
    else if (!strcmp(name, "--connections")) connection_count = atoi(value);
    else if (!strcmp(name, "--streams")) stream_count = atoi(value);
    else if (!strcmp(name, "--header") && header_count < HEADERS_AT_MOST && (colon = strstr(value, ": "))) {
      *colon = 0;
      names[header_count] = value, values[header_count++] = colon + 2;
    }
    else fail("unknown option", name);
  }
  if (!port || !path || !body_file || !reply_file || stream_count * 2 > MOST_STREAMS)
    fail("--port, --path, --body and --reply are needed", NULL);
  body_count = read_message(body_file, body);
  reply_count = read_message(reply_file, reply);
  build_blocks(path, names, values, header_count);

  poller = epoll_create1(EPOLL_CLOEXEC);
  Connection *connections = calloc((size_t)connection_count, sizeof *connections);
  for (int i = 0; i < connection_count; i++) open_connection(&connections[i], port);
  struct timespec began, ended;
  clock_gettime(CLOCK_MONOTONIC, &began);
  for (int i = 0; i < connection_count; i++) { begin_calls(&connections[i]); flush_out(&connections[i]); }
  while (calls_done < call_total) {
    struct epoll_event events[64];
    int ready = epoll_wait(poller, events, 64, 30000);
    if (ready == 0) fail("no answer for 30 s", NULL);
    for (int i = 0; i < ready; i++) {
      Connection *c = events[i].data.ptr;
      if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_in(c);
      begin_calls(c);
      flush_out(c);
    }
  }
  clock_gettime(CLOCK_MONOTONIC, &ended);
  printf("{\"calls\": %lld, \"seconds\": %.6f}\n", (long long)calls_done,
         (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9);
  return 0;
}
