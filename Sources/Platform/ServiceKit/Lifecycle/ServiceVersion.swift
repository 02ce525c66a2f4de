internal import CCurl
internal import CNghttp2
internal import COpenSSL
internal import CPostgreSQL
internal import Glibc

/// What runs: the program's version, how it was built, and the libraries that it found.
enum ServiceVersion {
  /// The version of the product.
  static let number = "0.1.0"

  #if DEBUG
  static let isDebugBuild = true
  #else
  static let isDebugBuild = false
  #endif

  /// Names and versions, in the order in which they are printed.
  static func lines(of program: String) -> [(name: String, version: String)] {
    [
      (program, number), ("build", isDebugBuild ? "debug" : "release"), ("build_id", BuildIdentifier.text), ("swift", swift),
      ("nghttp2", nghttp2),
      ("openssl", String(cString: OpenSSL_version(0))), ("libpq", libpq), ("libcurl", libcurl),
      ("tzdata", timeZones),
    ]
  }

  private static var swift: String {
    #if compiler(>=6.4)
    "6.4 or later"
    #elseif compiler(>=6.3)
    "6.3"
    #else
    "6.2"
    #endif
  }

  private static var nghttp2: String {
    guard let version = nghttp2_version(0)?.pointee.version_str else { return "unknown" }
    return String(cString: version)
  }

  /// Without the libraries that it was built with.
  private static var libcurl: String {
    let text = String(cString: curl_version()).split(separator: " ").first ?? "unknown"
    return text.hasPrefix("libcurl/") ? String(text.dropFirst(8)) : String(text)
  }

  private static var libpq: String { "\(PQlibVersion() / 10_000).\(PQlibVersion() % 10_000)" }

  /// Journeys and schedules follow local time, so which rules are installed matters. The first line of `tzdata.zi` says it.
  private static var timeZones: String {
    guard let file = fopen("/usr/share/zoneinfo/tzdata.zi", "re") else { return "unknown" }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 64)
    guard fgets(&line, Int32(line.count), file) != nil else { return "unknown" }
    let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return text.hasPrefix("# version ") ? text.dropFirst(10).trimmingBlanks : "unknown"
  }
}
