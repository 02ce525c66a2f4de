// OpenSSL function-like macros, which Swift does not import, as functions; and the memory BIO of the TLS engine.
#ifndef PARLEY_SHIMS_OPENSSL_H
#define PARLEY_SHIMS_OPENSSL_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

// Macros as functions. Each answers what the macro answers.

static inline long parley_SSL_CTX_set_mode(SSL_CTX *context, long mode) { return SSL_CTX_set_mode(context, mode); }

static inline long parley_SSL_CTX_set_session_cache_off(SSL_CTX *context) {
  return SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

static inline int parley_SSL_CTX_set_versions(SSL_CTX *context, int minimum, int maximum) {
  return SSL_CTX_set_min_proto_version(context, minimum) == 1 && SSL_CTX_set_max_proto_version(context, maximum) == 1;
}

static inline int parley_SSL_CTX_set_groups(SSL_CTX *context, const char *groups) {
  return (int)SSL_CTX_set1_groups_list(context, groups);
}

/// Takes over the reference to `certificate` when it answers 1.
static inline int parley_SSL_CTX_add0_chain_cert(SSL_CTX *context, X509 *certificate) {
  return (int)SSL_CTX_add0_chain_cert(context, certificate);
}

static inline int parley_SSL_set_host_name(SSL *ssl, const char *name) { return (int)SSL_set_tlsext_host_name(ssl, name); }

static inline void parley_OPENSSL_free(void *pointer) { OPENSSL_free(pointer); }

static inline uint64_t parley_SSL_options_ours(void) {
  return SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA;
}

static inline uint64_t parley_SSL_option_no_ticket(void) { return SSL_OP_NO_TICKET; }

// The TLS engine's BIO: it reads from bytes that the caller lends for one call and appends to a buffer that the caller lends
// for one call, so an idle connection owns no buffer. It lives in this header because only then do programs that use CShims
// without TLS not link libssl.

/// Ciphertext on its way to the peer: grows, is owned by whoever flushes it, and is lent to one engine call at a time.
struct parley_tls_output {
  unsigned char *bytes;
  size_t count;
  size_t capacity;
};

/// Why the engine must stop reading although OpenSSL would go on.
enum parley_tls_violation {
  parley_tls_violation_none = 0,
  parley_tls_violation_post_handshake_flood = 1,
  parley_tls_violation_renegotiation = 2,
};

/// What the BIO of one connection looks at. `input` and `output` are null outside an engine call.
struct parley_tls_io {
  const unsigned char *input;
  size_t input_count;
  struct parley_tls_output *output;
  /// Handshake messages (KeyUpdate, NewSessionTicket, HelloRequest) that the peer may still send after the handshake.
  uint32_t post_handshake_budget;
  uint16_t is_established;
  uint16_t violation;
};

/// Makes room for `extra` more bytes. 1, or 0 when there is no memory.
static inline int parley_tls_output_reserve(struct parley_tls_output *output, size_t extra) {
  if (output->capacity - output->count >= extra) return 1;
  size_t capacity = output->capacity ? output->capacity : 4096;
  while (capacity - output->count < extra) {
    if (capacity > SIZE_MAX / 2) return 0;
    capacity *= 2;
  }
  unsigned char *bytes = (unsigned char *)realloc(output->bytes, capacity);
  if (!bytes) return 0;
  output->bytes = bytes;
  output->capacity = capacity;
  return 1;
}

static inline int parley_tls_bio_read(BIO *bio, char *buffer, size_t size, size_t *count) {
  struct parley_tls_io *io = (struct parley_tls_io *)BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  *count = 0;
  // No retry flag: OpenSSL reports a system error and the engine reports the violation.
  if (!io || io->violation) return 0;
  if (!io->input_count) {
    BIO_set_retry_read(bio);
    return 0;
  }
  size_t taken = size < io->input_count ? size : io->input_count;
  memcpy(buffer, io->input, taken);
  io->input += taken;
  io->input_count -= taken;
  *count = taken;
  return 1;
}

static inline int parley_tls_bio_write(BIO *bio, const char *bytes, size_t size, size_t *count) {
  struct parley_tls_io *io = (struct parley_tls_io *)BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  *count = 0;
  if (!io || !io->output || !parley_tls_output_reserve(io->output, size)) return 0;
  memcpy(io->output->bytes + io->output->count, bytes, size);
  io->output->count += size;
  *count = size;
  return 1;
}

static inline long parley_tls_bio_control(BIO *bio, int command, long number, void *pointer) {
  (void)bio;
  (void)number;
  (void)pointer;
  return command == BIO_CTRL_FLUSH;
}

/// The method table, once per process. Null when there is no memory.
static inline BIO_METHOD *parley_tls_bio_method_new(void) {
  // BIO_get_new_index has 127 numbers per process; nothing looks this type up, so it takes none.
  BIO_METHOD *method = BIO_meth_new(BIO_TYPE_NONE, "parley");
  if (!method) return NULL;
  BIO_meth_set_read_ex(method, parley_tls_bio_read);
  BIO_meth_set_write_ex(method, parley_tls_bio_write);
  BIO_meth_set_ctrl(method, parley_tls_bio_control);
  return method;
}

/// Gives `ssl` a BIO over `io`, which must outlive it. 1, or 0 when there is no memory.
static inline int parley_tls_attach(SSL *ssl, const BIO_METHOD *method, struct parley_tls_io *io) {
  BIO *bio = BIO_new(method);
  if (!bio) return 0;
  BIO_set_data(bio, io);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
  return 1;
}

/// Sees every record; counts what only a hostile peer sends often. OpenSSL 3.0 itself has no bound for either.
static inline void parley_tls_message_seen(int is_write, int version, int content, const void *bytes, size_t count, SSL *ssl,
                                           void *argument) {
  (void)version;
  (void)argument;
  if (content == SSL3_RT_HANDSHAKE) {
    if (is_write) return;
    struct parley_tls_io *io = (struct parley_tls_io *)BIO_get_data(SSL_get_rbio(ssl));
    if (!io || !io->is_established) return;
    if (io->post_handshake_budget) {
      io->post_handshake_budget--;
    } else if (!io->violation) {
      io->violation = parley_tls_violation_post_handshake_flood;
    }
  } else if (content == SSL3_RT_ALERT) {
    // OpenSSL answers a ClientHello in mid-connection with a warning and goes on, for ever; one is enough.
    if (!is_write || count != 2 || ((const unsigned char *)bytes)[1] != SSL_AD_NO_RENEGOTIATION) return;
    struct parley_tls_io *io = (struct parley_tls_io *)BIO_get_data(SSL_get_rbio(ssl));
    if (io && !io->violation) io->violation = parley_tls_violation_renegotiation;
  }
}

static inline void parley_tls_watch_messages(SSL_CTX *context) { SSL_CTX_set_msg_callback(context, parley_tls_message_seen); }

#endif
