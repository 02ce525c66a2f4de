internal import Outbound

/// When a server that was asked too much may be asked again.
enum RateLimitReset {
  /// The wait that the header fields ask for; nil when they say nothing.
  ///
  /// `retry-after-ms` is the exact one, `Retry-After` the standard one. Without them it is as long as the emptiest of the
  /// limits takes to fill: of requests or of tokens.
  static func wait(_ headers: HTTPHeaders, unixSeconds: Int64) -> Duration? {
    if let text = headers["retry-after-ms"], let milliseconds = Double(text), (0...1e12).contains(milliseconds) {
      return .milliseconds(Int64(milliseconds.rounded(.up)))
    }
    if let field = headers["retry-after"], let wait = RetryAfter.delay(of: field, unixSeconds: unixSeconds) { return wait }
    let resets = ["requests", "tokens"].compactMap { kind -> Duration? in
      // A limit of which something is left is not the one in the way.
      if let left = headers["x-ratelimit-remaining-\(kind)"].flatMap({ Int64($0) }), left > 0 { return nil }
      return headers["x-ratelimit-reset-\(kind)"].flatMap(duration)
    }
    return resets.max()
  }

  /// `250ms`, `1s`, `7.66s`, `6m0s`, `1h2m3s`, `1d`: numbers with units, each once and from large to small; nil for anything else.
  static func duration(_ text: String) -> Duration? {
    let units: [(name: String, nanoseconds: Double)] = [
      ("d", 86_400e9), ("h", 3_600e9), ("m", 60e9), ("s", 1e9), ("ms", 1e6), ("us", 1e3), ("µs", 1e3), ("ns", 1),
    ]
    var rest = text[...]
    var total = 0.0
    var next = 0
    while !rest.isEmpty {
      let number = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
      rest = rest.dropFirst(number.count)
      let name = rest.prefix { !($0.isNumber || $0 == ".") }
      rest = rest.dropFirst(name.count)
      guard let value = Double(number), let unit = units[next...].firstIndex(where: { $0.name == name }) else { return nil }
      total += value * units[unit].nanoseconds
      next = unit + 1
    }
    guard next > 0, total < 9e18 else { return nil }
    return .nanoseconds(Int64(total.rounded(.up)))
  }
}
