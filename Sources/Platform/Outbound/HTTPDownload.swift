/// The body of a response, read piece by piece; the peer is held back while nobody reads.
///
/// Valid within ``HTTPClient/withResponse(to:_:)``, for one reader.
public struct HTTPDownload: Sendable {
  let incoming: IncomingBody

  /// The next bytes, or nil after the last ones.
  ///
  /// - Throws: ``OutboundError`` when the rest does not come: `connectionLost`, `timeout`, `responseTooLarge`, `cancelled`.
  public func next() async throws(OutboundError) -> [UInt8]? { try await incoming.next() }
}
