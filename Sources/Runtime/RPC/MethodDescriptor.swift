public import MessagesCore

/// How many messages travel each way. A call is a stream of messages in both directions; the others are special cases.
public enum MethodKind: Sendable, Hashable {
  /// One request, one response.
  case unary
  /// Many requests, one response.
  case clientStreaming
  /// One request, many responses.
  case serverStreaming
  /// Many each way.
  case bidirectional
}

/// Who may call a method: the option `(parley.options.v1.access)`.
public enum MethodAccess: Sendable, Hashable {
  /// Anyone.
  case `public`
  /// A registered device.
  case device
  /// The bearer of a Google ID token.
  case googleIDToken
  /// A signed-in user.
  case session
  /// A signed-in user with an active subscription.
  case subscribed
  /// An operator.
  case admin
  /// Another service of this product.
  case service
}

/// Whether a method may be repeated: the option `idempotency_level`.
public enum MethodIdempotency: Sendable, Hashable {
  /// Nothing is promised.
  case unknown
  /// It changes nothing, so it may be called by GET.
  case noSideEffects
  /// Repeating it has the effect of calling it once.
  case idempotent
}

/// What is known of a method apart from the types of its messages.
public final class MethodInfo: Sendable {
  /// The full name of the service: `parley.broker.v1.TokenBrokerService`.
  public let service: String
  /// The name of the method: `ExchangeToken`.
  public let name: String
  /// How many messages travel each way.
  public let kind: MethodKind
  /// Who may call it.
  public let access: MethodAccess
  /// Whether it may be repeated.
  public let idempotency: MethodIdempotency
  /// What its options ask for beyond that; nil for most methods.
  public let policy: MethodPolicy?
  /// The path on the wire: `/parley.broker.v1.TokenBrokerService/ExchangeToken`.
  public let path: String
  /// Describes the request message.
  public let requestDescriptor: MessageDescriptor
  /// Describes the response message.
  public let responseDescriptor: MessageDescriptor

  /// Describes a method whose types are known only while the program runs.
  package init(
    service: String, name: String, kind: MethodKind, access: MethodAccess, idempotency: MethodIdempotency,
    policy: MethodPolicy? = nil, request: MessageDescriptor, response: MessageDescriptor
  ) {
    self.service = service
    self.name = name
    self.kind = kind
    self.access = access
    self.idempotency = idempotency
    self.policy = policy
    requestDescriptor = request
    responseDescriptor = response
    path = "/\(service)/\(name)"
  }
}

/// One method of a service, with the types of its messages.
public struct MethodDescriptor<Request: Message, Response: Message>: Sendable {
  /// Everything but the types.
  public let info: MethodInfo

  /// Describes a method; generated code calls this.
  public init(
    service: String, name: String, kind: MethodKind, access: MethodAccess, idempotency: MethodIdempotency = .unknown,
    limits: [MethodLimit] = [], replay: MethodReplay<Request>? = nil, owners: (@Sendable (Request) -> [String])? = nil
  ) {
    info = MethodInfo(
      service: service, name: name, kind: kind, access: access, idempotency: idempotency,
      policy: .of(limits, replay, owners, Response.self),
      request: Request.descriptor, response: Response.descriptor)
  }
}

/// A service: its name, its methods and the file that declares them.
public struct ServiceDescriptor: Sendable {
  /// The full name: `parley.broker.v1.TokenBrokerService`.
  public let name: String
  /// The methods in the order of the proto file.
  public let methods: [MethodInfo]
  /// The file that declares the service, for reflection; nil for a service that was put together by hand.
  public let file: FileDescriptor?

  /// Describes a service; generated code calls this.
  public init(name: String, methods: [MethodInfo], file: FileDescriptor? = nil) {
    self.name = name
    self.methods = methods
    self.file = file
  }
}
