import Glibc

/// How much slower and larger everything is than on a plain build: sanitizers set `PARLEY_TEST_SLOWDOWN`.
enum Scale {
  /// What times are multiplied with.
  static var time: Int { getenv("PARLEY_TEST_SLOWDOWN").flatMap { Int(String(cString: $0)) } ?? 1 }
  /// What memory is multiplied with. A sanitizer keeps freed blocks back, by the hundred megabytes.
  static var memory: Int { time > 1 ? 32 : 1 }
}
