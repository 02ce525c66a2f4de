internal import Buffers
internal import RPC
internal import RPCWire

/// The query of a Connect call by GET, in the order that lets caches see equal calls as equal.
enum ConnectQuery {
  /// The longest URL that is sent; proxies refuse longer ones. Calls above it go by POST.
  static let maximumBytes = 8_000

  static func make(
    _ message: UnsafeRawBufferPointer, _ compression: MessageCompression, _ codec: MessageCodec
  ) -> String {
    let isText = codec == .json && compression == .identity
    var query = "connect=v1"
    if !isText { query += "&base64=1" }
    if compression != .identity { query += "&compression=\(compression.rawValue)" }
    query += "&encoding=\(codec.name)&message="
    return query + (isText ? QueryEncoding.encode(message) : urlBase64(message))
  }

  private static func urlBase64(_ bytes: UnsafeRawBufferPointer) -> String {
    String(
      decoding: MetadataBase64.encode(bytes).utf8.map { byte in
        switch byte {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: byte
        }
      }, as: UTF8.self)
  }
}
