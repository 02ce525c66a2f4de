internal import Glibc

extension Duration {
  /// As long as a test waits at most: this long on a plain build, `PARLEY_TEST_SLOWDOWN` times as long where sanitizers slow
  /// everything down.
  public var withPatience: Duration { self * Patience.factor }
}

extension Int {
  /// As many bytes as a test allows at most: this many on a plain build, 32 times as many where a sanitizer keeps freed blocks back,
  /// by the hundred megabytes.
  public var withRoomForSanitizers: Int { Patience.factor > 1 ? self * 32 : self }
}

private enum Patience {
  static let factor = getenv("PARLEY_TEST_SLOWDOWN").flatMap { Int(String(cString: $0)) }.map { max(1, $0) } ?? 1
}
