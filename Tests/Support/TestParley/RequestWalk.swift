internal import MessagesCore
public import RPC
internal import WellKnown

/// Requests of any method, made of its descriptor alone: each of its texts, one request after the other, holds what a test wants.
///
/// The other fields are filled with what the test holds to be likely by their names, so that the request comes as far as it can.
public struct RequestWalk: Sendable {
  /// A request and the field that is not what it should be.
  public struct Step: Sendable, CustomStringConvertible {
    /// The method.
    public let method: MethodInfo
    /// The field by its path: `device.name`.
    public let field: String
    let bytes: [UInt8]

    /// Method and field.
    public var description: String { "\(method.path) \(field)" }
  }

  private let text: String
  private let likely: @Sendable (_ method: MethodInfo, _ field: String) -> String?

  /// A walk.
  ///
  /// - Parameters:
  ///   - text: What each text in turn holds.
  ///   - likely: What the other ones hold; nil leaves them empty.
  public init(putting text: String, likely: @escaping @Sendable (_ method: MethodInfo, _ field: String) -> String?) {
    self.text = text
    self.likely = likely
  }

  /// One request for each text of the method's request message, at any depth.
  public func steps(of method: MethodInfo) -> [Step] {
    var paths: [String] = []
    Self.texts(method.requestDescriptor, "", 0, &paths)
    return paths.map { Step(method: method, field: $0, bytes: encoded(method.requestDescriptor, "", method, in: $0, 0)) }
  }

  /// One request with one field as it is said, and all others likely ones.
  public func step(of method: MethodInfo, field: String) -> Step {
    Step(method: method, field: field, bytes: encoded(method.requestDescriptor, "", method, in: field, 0))
  }

  // MARK: Encoding

  private static let deepest = 4

  private static func texts(_ descriptor: MessageDescriptor, _ prefix: String, _ depth: Int, _ paths: inout [String]) {
    guard depth < deepest else { return }
    for field in descriptor.fields {
      switch field.kind {
      case .scalar(.string): paths.append(prefix + field.name)
      case .message(let inner): texts(inner(), prefix + field.name + ".", depth + 1, &paths)
      case .scalar, .enumeration: break
      }
    }
  }

  private func encoded(
    _ descriptor: MessageDescriptor, _ prefix: String, _ method: MethodInfo, in target: String, _ depth: Int
  ) -> [UInt8] {
    guard depth < Self.deepest else { return [] }
    var bytes: [UInt8] = []
    for field in descriptor.fields {
      let path = prefix + field.name
      switch field.kind {
      case .scalar(.string):
        // Of several that exclude each other, the one that is looked at counts.
        guard let value = path == target ? text : isOneOf(field) ? nil : likely(method, path) else { continue }
        Self.append(field.number, Array(value.utf8), to: &bytes)
      case .message(let inner):
        let isOnTheWay = target.hasPrefix(path + ".")
        guard isOnTheWay || !isOneOf(field), isOnTheWay || likely(method, path) != nil else { continue }
        Self.append(field.number, encoded(inner(), path + ".", method, in: target, depth + 1), to: &bytes)
      case .enumeration, .scalar:
        guard let number = likely(method, path).flatMap({ UInt64($0) }), let type = Self.wireType(field.kind) else { continue }
        Self.append(UInt64(field.number) << 3 | type, to: &bytes)
        Self.append(number, to: &bytes)
      }
    }
    return bytes
  }

  private func isOneOf(_ field: FieldDescriptor) -> Bool { if case .oneof = field.shape { true } else { false } }

  /// Those whose values are a varint; others are left out.
  private static func wireType(_ kind: FieldDescriptor.Kind) -> UInt64? {
    switch kind {
    case .enumeration, .scalar(.int32), .scalar(.int64), .scalar(.uint32), .scalar(.uint64), .scalar(.bool): 0
    default: nil
    }
  }

  private static func append(_ number: Int32, _ value: [UInt8], to bytes: inout [UInt8]) {
    append(UInt64(number) << 3 | 2, to: &bytes)
    append(UInt64(value.count), to: &bytes)
    bytes += value
  }

  private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
    var value = value
    while value >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    bytes.append(UInt8(value))
  }
}

extension RequestWalk.Step {

  /// Sends the request, and says how the call ended: nil for OK, or for a first response where there may be many.
  public func send(over channel: any Channel, _ options: CallOptions) async throws -> RPCError? {
    let descriptor = MethodDescriptor<GoogleProtobuf.Empty, GoogleProtobuf.Empty>(
      service: method.service, name: method.name, kind: method.kind, access: method.access)
    var request = GoogleProtobuf.Empty()
    request.unknownFields = UnknownFields(bytes: bytes)
    let message = request
    do {
      switch method.kind {
      case .unary: _ = try await channel.unary(descriptor, message, options)
      case .serverStreaming:
        try await channel.serverStreaming(descriptor, message, options) { responses in
          var responses = responses
          _ = try await responses.next()
        }
      case .clientStreaming: _ = try await channel.clientStreaming(descriptor, options) { try await $0.write(message) }
      case .bidirectional:
        try await channel.stream(descriptor, options) { call in
          try await call.send(message)
          try await call.finishSending()
          var responses = call.responses
          _ = try await responses.next()
        }
      }
      return nil
    } catch let error as RPCError {
      return error
    }
  }
}
