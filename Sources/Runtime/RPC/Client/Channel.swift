public import MessagesCore

/// A way to a service: what generated clients call through.
public protocol Channel: Sendable {
  /// Makes a unary call.
  ///
  /// - Throws: ``RPCError``: what the server answered, or ``StatusCode/unavailable``, ``StatusCode/deadlineExceeded`` and
  ///   ``StatusCode/cancelled`` from this side.
  func unary<Request: Message, Response: Message>(
    _ method: MethodDescriptor<Request, Response>, _ request: Request, _ options: CallOptions
  ) async throws(RPCError) -> ClientResponse<Response>
}

/// How one call differs from the channel's defaults.
public struct CallOptions: Sendable {
  /// Sent along with the call.
  public var metadata: Metadata
  /// When the caller stops waiting. A call made while serving another one never outlives that one's deadline.
  public var deadline: Deadline?
  /// Whether to wait for a connection instead of failing while there is none.
  public var waitsForReady: Bool
  /// The most bytes that a response message may have, or the channel's own limit.
  public var maximumResponseBytes: Int?

  /// Options with everything at its default.
  public init(
    metadata: Metadata = [:], deadline: Deadline? = nil, waitsForReady: Bool = false, maximumResponseBytes: Int? = nil
  ) {
    self.metadata = metadata
    self.deadline = deadline
    self.waitsForReady = waitsForReady
    self.maximumResponseBytes = maximumResponseBytes
  }

  /// A deadline `timeout` from now.
  public static func timeout(_ timeout: Duration) -> CallOptions { CallOptions(deadline: .after(timeout)) }

  /// The deadline that holds: this one or that of the call being served, whichever is earlier.
  public var effectiveDeadline: Deadline? {
    guard let inherited = CallContext.current?.deadline else { return deadline }
    return min(deadline ?? inherited, inherited)
  }
}

/// A response with the metadata around it.
public struct ClientResponse<Response: Message>: Sendable {
  /// The message.
  public let message: Response
  /// The headers that came before it.
  public let initialMetadata: Metadata
  /// The trailers that came with the status.
  public let trailingMetadata: Metadata

  /// Joins a message with its metadata.
  public init(_ message: Response, initialMetadata: Metadata = [:], trailingMetadata: Metadata = [:]) {
    self.message = message
    self.initialMetadata = initialMetadata
    self.trailingMetadata = trailingMetadata
  }
}
