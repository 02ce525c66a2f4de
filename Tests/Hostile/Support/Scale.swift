import Glibc

/// How much slower and larger everything is on a build that is not the one that is shipped.
enum Scale {
  private static let slowdown = getenv("PARLEY_TEST_SLOWDOWN").flatMap { Int(String(cString: $0)) } ?? 1

  /// What times are multiplied with: four without optimization, too, which costs more than that.
  static var time: Int {
    #if DEBUG
    max(slowdown, 4)
    #else
    slowdown
    #endif
  }

  /// What memory is multiplied with. A sanitizer keeps freed blocks back, by the hundred megabytes.
  static var memory: Int { slowdown > 1 ? 32 : 1 }
}
