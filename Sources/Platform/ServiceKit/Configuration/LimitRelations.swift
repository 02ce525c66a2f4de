internal import HTTP2
internal import RPCServer

/// What must hold between limits that are each within their bounds: other combinations hold up calls for ever, or refuse all of them.
struct LimitRelations {
  private let configuration: RPCServerConfiguration

  init(_ configuration: RPCServerConfiguration) { self.configuration = configuration }

  /// What is too small beside the others, with the key that sets it.
  var findings: [ConfigurationFinding] {
    [
      least(
        "http2.requestBytes", configuration.http2.requestBytes, requestBytes,
        "the largest request, what its client may send ahead on its stream, and the connection's window; a seventh more, since the "
          + "newest requests are refused beyond seven eighths"),
      least(
        "http2.processRequestBytes", configuration.http2.processRequestBytes, processRequestBytes,
        "twice the largest request and what its client may send ahead on its stream"),
    ].compactMap { $0 }
  }

  /// What one request may take while it comes: its message, as long as it may be compressed, or its body, and what follows it on its
  /// stream before that is taken.
  private var oneRequest: Int {
    let bytes = configuration.maximumRequestBytes
    // zlib's bound for what does not get smaller, and the prefix.
    let message = bytes + bytes / 1_024 + 64 + 5
    return max(message, configuration.maximumHTTPBodyBytes) + configuration.http2.streamWindowBytes
  }

  /// The window of the connection opens only while there is room for another one.
  private var requestBytes: Int {
    max(oneRequest + oneRequest / 7 + 1, oneRequest + configuration.http2.connectionWindowBytes)
  }

  private var processRequestBytes: Int { 2 * oneRequest }

  private func least(_ property: String, _ value: Int, _ bytes: Int, _ reason: String) -> ConfigurationFinding? {
    guard value < bytes else { return nil }
    return StandardKeys.limits.first { $0.property == property }.map {
      .error($0.key, "must be at least \(bytes): \(reason)")
    }
  }
}
