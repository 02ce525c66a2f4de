#include <zlib.h>

// deflateInit2 and inflateInit2 are macros that Swift does not see.
static inline int parley_deflate_init(z_stream *stream, int level, int windowBits) {
  return deflateInit2(stream, level, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY);
}
static inline int parley_inflate_init(z_stream *stream, int windowBits) { return inflateInit2(stream, windowBits); }
