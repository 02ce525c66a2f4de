internal import HTTP2
internal import RPC
internal import RPCServer

/// What the large requests of a service ask of the limits of its server.
struct LargeRequestNeeds {
  /// The least that one limit may be, and why.
  struct Least {
    let property: String
    let limit: any WritableKeyPath<RPCServerConfiguration, Int> & Sendable
    let bytes: Int
    let reason: String
  }

  private let largest: [String: Int]

  /// - Parameters:
  ///   - largest: The bytes of the largest requests, by the room in which they wait.
  ///   - usual: What is no large request.
  init(_ largest: [String: Int], besides usual: Int) { self.largest = largest.filter { $0.value > usual } }

  /// The defaults of a server that has what it needs.
  var defaults: RPCServerConfiguration {
    var configuration = RPCServerConfiguration()
    // What connections need follows from what the first room holds.
    for _ in 0..<2 {
      for least in least(configuration) {
        configuration[keyPath: least.limit] = max(configuration[keyPath: least.limit], least.bytes)
      }
    }
    return configuration
  }

  /// What is too small of a configuration, with the key that sets it.
  func findings(_ configuration: RPCServerConfiguration) -> [ConfigurationFinding] {
    least(configuration).filter { configuration[keyPath: $0.limit] < $0.bytes }.compactMap { least in
      StandardKeys.limits.first { $0.property == least.property }.map {
        .error($0.key, "must be at least \(least.bytes): \(least.reason)")
      }
    }
  }

  /// An edge may bring everything over one connection, and half of what that may hold is for requests that are waited for whole.
  /// The process needs as much as all rooms hold, and for other requests what one connection has by itself.
  private func least(_ configuration: RPCServerConfiguration) -> [Least] {
    guard !largest.isEmpty else { return [] }
    let rooms = largest.reduce(0) { $0 + configuration.roomBytes($1.key, largest: $1.value) }
    let others = RPCServerConfiguration().http2.requestBytes
    return [
      Least(
        property: "largeRequestBytes", limit: \.largeRequestBytes, bytes: 2 * (largest[RequestLimit.room] ?? 0),
        reason: "two of the largest requests"),
      Least(
        property: "http2.requestBytes", limit: \.http2.requestBytes, bytes: 2 * rooms + (1 << 20),
        reason: "twice what large requests may come to, all over one connection, and 1 MiB"),
      Least(
        property: "http2.processRequestBytes", limit: \.http2.processRequestBytes, bytes: rooms + others,
        reason: "what large requests may come to, and \(others >> 20) MiB for others"),
    ]
  }
}
