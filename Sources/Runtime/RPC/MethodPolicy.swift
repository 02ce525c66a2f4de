public import MessagesCore

/// How often a method may be called: the option `(parley.options.v1.rate_limit)`.
public struct MethodLimit: Sendable, Hashable {
  /// Who shares a bucket of tokens.
  public enum Sharing: Sendable, Hashable {
    /// The calls of one account.
    case user
    /// The calls from one client address.
    case address
    /// The calls of one session.
    case session
    /// The calls of one device.
    case device
  }

  /// What the bucket is called, by itself and where methods share it: `[a-z][a-z0-9-]{0,31}`.
  public let name: String
  /// Who shares it.
  public let sharing: Sharing
  /// Tokens that come back in a minute.
  public let perMinute: Int
  /// The most tokens that it holds.
  public let burst: Int
  /// Whether calls pass while they cannot be counted.
  public let failsOpen: Bool

  /// Describes a limit; generated code calls this.
  public init(_ name: String, per sharing: Sharing, perMinute: Int, burst: Int, failsOpen: Bool = false) {
    self.name = name
    self.sharing = sharing
    self.perMinute = perMinute
    self.burst = burst
    self.failsOpen = failsOpen
  }
}

/// How a method answers a request that comes again: the option `(parley.options.v1.idempotency)`.
public struct MethodReplay<Request>: Sendable {
  /// For how many hours an answer is kept.
  public let keptHours: Int
  /// Whether a request without a key is served all the same.
  public let isKeyOptional: Bool
  /// The request's key; empty without one.
  public let key: @Sendable (Request) -> String

  /// Describes it; generated code calls this.
  public init(keptHours: Int, isKeyOptional: Bool, _ key: @escaping @Sendable (Request) -> String) {
    self.keptHours = keptHours
    self.isKeyOptional = isKeyOptional
    self.key = key
  }
}

/// What a method's options ask for beyond who may call it. Most methods have none.
public struct MethodPolicy: Sendable {
  /// How often it may be called.
  public let limits: [MethodLimit]
  /// How it answers a request that comes again, or nil.
  public let replay: MethodReplay<any Message>?
  /// The accounts that a request names and that must be the caller's, or nil.
  public let owners: (@Sendable (any Message) -> [String])?
  /// The type of its requests.
  public let request: any Message.Type
  /// The type of its responses.
  public let response: any Message.Type

  /// The policy of a method with these types, or nil when nothing is asked for.
  static func of<Request: Message, Response: Message>(
    _ limits: [MethodLimit], _ replay: MethodReplay<Request>?, _ owners: (@Sendable (Request) -> [String])?, _: Response.Type
  ) -> MethodPolicy? {
    guard !limits.isEmpty || replay != nil || owners != nil else { return nil }
    return MethodPolicy(
      limits: limits, replay: replay?.erased(), owners: owners.map { erased($0) }, request: Request.self, response: Response.self)
  }

  private static func erased<Request: Message>(
    _ owners: @escaping @Sendable (Request) -> [String]
  ) -> @Sendable (any Message) -> [String] {
    { message in
      guard let request = message as? Request else { return [] }
      return owners(request)
    }
  }
}

extension MethodReplay where Request: Message {
  fileprivate func erased() -> MethodReplay<any Message> {
    let key = key
    return MethodReplay<any Message>(keptHours: keptHours, isKeyOptional: isKeyOptional) { message in
      guard let request = message as? Request else { return "" }
      return key(request)
    }
  }
}
