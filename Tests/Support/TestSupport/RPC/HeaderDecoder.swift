internal import CNghttp2

/// Reads header blocks with nghttp2's own HPACK decoder, whose state lasts as long as the connection.
final class HeaderDecoder {
  private var inflater: OpaquePointer?

  init() { precondition(nghttp2_hd_inflate_new(&inflater) == 0, "no memory") }

  deinit { nghttp2_hd_inflate_del(inflater) }

  /// The fields of a complete block; nil when it is malformed.
  func decode(_ block: [UInt8]) -> [(String, String)]? {
    var fields: [(String, String)] = []
    var offset = 0
    while true {
      var field = nghttp2_nv()
      var flags: Int32 = 0
      let used = block.withUnsafeBufferPointer {
        nghttp2_hd_inflate_hd2(inflater, &field, &flags, $0.baseAddress.map { $0 + offset }, $0.count - offset, 1)
      }
      guard used >= 0 else { return nil }
      offset += used
      if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
        fields.append((text(field.name, field.namelen), text(field.value, field.valuelen)))
      }
      if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
        nghttp2_hd_inflate_end_headers(inflater)
        return fields
      }
      if offset == block.count && flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) == 0 { return fields }
    }
  }

  private func text(_ start: UnsafeMutablePointer<UInt8>?, _ count: Int) -> String {
    String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }
}
