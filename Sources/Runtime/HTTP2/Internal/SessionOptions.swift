internal import CNghttp2

/// A session's settings, made from ``HTTP2Limits``; one per loop and role.
final class SessionOptions {
  /// A proxy's header lists may have so many times the CONTINUATION frames: it is the stream that is refused, not the connection.
  static let sharedContinuations = 8

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
    // A server counts CONTINUATION frames by itself (see ``Conduct``) and says why it ends a connection; nghttp2's limit stands
    // behind. It counts every attempt to read a CONTINUATION's nine bytes, of which a fragmented frame takes as many.
    nghttp2_option_set_max_continuations(pointer, (limits.continuations * Self.sharedContinuations + 1) * 10)
    // Resets, too: nghttp2 knows neither what the peer completed beside them nor whose they are, so that its limit must not be met.
    nghttp2_option_set_stream_reset_rate_limit(pointer, 1 << 40, 1 << 32)
    // Error messages may be long: a status message of 8 KiB, three times that when percent-encoded.
    nghttp2_option_set_max_send_header_block_length(pointer, 128 << 10)
    self.pointer = pointer
  }

  deinit { nghttp2_option_del(pointer) }
}
