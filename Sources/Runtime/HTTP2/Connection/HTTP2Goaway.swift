internal import CNghttp2

/// A peer's announcement that it serves no new streams: RFC 9113, section 6.8.
package struct HTTP2Goaway: Sendable, Hashable {
  /// Why.
  package let code: HTTP2ErrorCode
  /// What the peer's developer is to know, at most 256 bytes of it.
  package let debug: String

  init(_ frame: nghttp2_goaway) {
    code = HTTP2ErrorCode(rawValue: frame.error_code)
    debug = String(decoding: UnsafeBufferPointer(start: frame.opaque_data, count: min(frame.opaque_data_len, 256)), as: UTF8.self)
  }

  /// Whether the peer complains of a client that asks for signs of life too often: gRFC A8.
  package var isTooManyPings: Bool { code == .enhanceYourCalm && debug == "too_many_pings" }
}
