public import MessagesCore

/// A response with the metadata around it.
public struct ClientResponse<Response: Message>: Sendable {
  /// The message.
  public let message: Response
  /// The headers that came before it.
  public let initialMetadata: Metadata
  /// The trailers that came with the status.
  public let trailingMetadata: Metadata
  /// Whether the message came compressed.
  public let wasCompressed: Bool

  /// Joins a message with its metadata.
  public init(
    _ message: Response, initialMetadata: Metadata = [:], trailingMetadata: Metadata = [:], wasCompressed: Bool = false
  ) {
    self.message = message
    self.initialMetadata = initialMetadata
    self.trailingMetadata = trailingMetadata
    self.wasCompressed = wasCompressed
  }
}
