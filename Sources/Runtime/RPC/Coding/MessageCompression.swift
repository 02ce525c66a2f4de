/// How messages are compressed on the wire; the raw value is the name that headers use.
public enum MessageCompression: String, Sendable, Hashable, CaseIterable {
  /// Not at all.
  case identity
  /// RFC 1952.
  case gzip
  /// RFC 1950: zlib's format, as HTTP calls it. Accepted, and never chosen by itself.
  case deflate
}
