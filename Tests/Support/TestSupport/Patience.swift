internal import Glibc

extension Duration {
  /// As long as a test waits at most: this long on a plain build, `PARLEY_TEST_SLOWDOWN` times as long where sanitizers slow
  /// everything down.
  public var withPatience: Duration { self * Patience.factor }
}

private enum Patience {
  static let factor = getenv("PARLEY_TEST_SLOWDOWN").flatMap { Int(String(cString: $0)) }.map { max(1, $0) } ?? 1
}
