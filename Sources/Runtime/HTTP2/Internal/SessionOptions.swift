internal import CNghttp2

/// A session's settings, made from ``HTTP2Limits``; one per loop and role.
final class SessionOptions {
  let pointer: OpaquePointer?

  init(_ limits: HTTP2Limits) {
    var pointer: OpaquePointer?
    nghttp2_option_new(&pointer)
    // Windows open as handlers consume, which is what slows a fast peer down.
    nghttp2_option_set_no_auto_window_update(pointer, 1)
    // Closed streams are of no use to us (no priorities), and cost memory.
    nghttp2_option_set_no_closed_streams(pointer, 1)
    nghttp2_option_set_max_settings(pointer, limits.settings)
    nghttp2_option_set_max_outbound_ack(pointer, limits.queuedAcknowledgements)
    // A server counts CONTINUATION frames and resets by itself (see ``Conduct``) and says why it ends a connection; nghttp2's limits
    // stand behind. It counts every attempt to read a CONTINUATION's nine bytes, of which a fragmented frame takes as many.
    nghttp2_option_set_max_continuations(pointer, (limits.continuations + 1) * 10)
    nghttp2_option_set_stream_reset_rate_limit(
      pointer, UInt64(clamping: limits.glitchBurst * 2), UInt64(clamping: limits.glitchesPerSecond * 2))
    // Error messages may be long: a status message of 8 KiB, three times that when percent-encoded.
    nghttp2_option_set_max_send_header_block_length(pointer, 128 << 10)
    self.pointer = pointer
  }

  deinit { nghttp2_option_del(pointer) }
}
