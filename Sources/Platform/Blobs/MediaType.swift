/// The media types that a blob may have.
enum MediaType {
  /// Bytes at most.
  static let limit = 255
  /// That of a blob of which no more is known (RFC 2046, 4.5.1).
  static let unknown = "application/octet-stream"

  /// - Throws: ``BlobError`` with `invalid` for what cannot stand in a header field, or is no type at all.
  static func check(_ type: String) throws(BlobError) {
    let isVisible = type.utf8.allSatisfy { (0x20...0x7e).contains($0) }
    guard (3...limit).contains(type.utf8.count), isVisible, type.contains("/"), type.first != " ", type.last != " " else {
      throw BlobError(.invalid, "put: the media type is none")
    }
  }
}
