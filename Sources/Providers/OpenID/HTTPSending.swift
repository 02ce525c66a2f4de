public import Outbound

/// The way to a provider's endpoints: the outbound client, or a test's stand-in.
public protocol HTTPSending: Sendable {
  /// Sends a request and returns the whole response, whatever its status.
  func send(_ request: HTTPRequest) async throws(OutboundError) -> HTTPResponse
}

extension HTTPClient: HTTPSending {}
