public import Logging
public import RPC
public import RPCServer
internal import Synchronization

/// The name of one request, in its answer and in every line that is logged for it.
public enum RequestID {
  /// The header in both directions.
  public static let header = "x-request-id"

  /// The id of the plain HTTP request that the current task serves; an RPC has its own among its values.
  @TaskLocal static var ofHTTPRequest: String?

  /// The id of what the current task serves.
  public static var current: String? { CallContext.current?[RequestIDKey.self] ?? ofHTTPRequest }

  /// Puts the id into every line that is logged while a request is served.
  public static let metadataProvider = Logger.MetadataProvider {
    guard let id = current else { return [:] }
    return ["request_id": "\(id)"]
  }

  /// Whether what a caller sent may be taken over: 1 to 64 letters, digits, and `-_.:`, so that no log line can be forged.
  public static func isSane(_ text: String) -> Bool {
    let bytes = text.utf8
    guard (1...64).contains(bytes.count) else { return false }
    return bytes.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ":"): true
      default: false
      }
    }
  }

  /// A new id: 13 characters, which is what a String holds without allocating. Unique, not secret.
  public static func make() -> String {
    var bits = scramble(counter.add(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue)
    return String(unsafeUninitializedCapacity: 13) { bytes in
      for index in 0..<13 {
        bytes[index] = alphabet[Int(bits & 31)]
        bits >>= 5
      }
      return 13
    }
  }

  private static let alphabet: StaticAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"
  /// Starts anywhere, so that two processes do not count alike.
  private static let counter = Atomic(UInt64.random(in: .min ... .max))

  /// SplitMix64: neighbours in, strangers out, one to one.
  private static func scramble(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  private struct StaticAlphabet: ExpressibleByStringLiteral, Sendable {
    let characters: StaticString
    init(stringLiteral characters: StaticString) { self.characters = characters }
    // SAFETY: the literal lives as long as the process, and indices are five bits of thirty-two characters.
    subscript(index: Int) -> UInt8 { characters.utf8Start[index] }
  }
}

/// Where an RPC keeps its request id.
public enum RequestIDKey: CallValueKey {
  public typealias Value = String
}

/// Gives every RPC an id: the caller's if it is sane, else a new one; sent back with the headers.
public struct RequestIDInterceptor: ServerInterceptor {
  /// Makes the interceptor; it has no settings.
  public init() {}

  public func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    let given = call.metadata[RequestID.header]
    let id = given.flatMap { RequestID.isSane($0) ? $0 : nil } ?? RequestID.make()
    call.values[RequestIDKey.self] = id
    call.initialMetadata[RequestID.header] = id
    try await next(call)
  }
}

/// Gives every plain HTTP request an id, as ``RequestIDInterceptor`` does for RPCs.
public struct HTTPRequestID: HTTPMiddleware {
  /// Makes the middleware; it has no settings.
  public init() {}

  public func handle(_ request: HTTPServerRequest, next: HTTPRoute.Handler) async throws -> HTTPServerResponse {
    let id = request.header(RequestID.header).flatMap { RequestID.isSane($0) ? $0 : nil } ?? RequestID.make()
    var response = try await RequestID.$ofHTTPRequest.withValue(id) { try await next(request) }
    response.headers.append((RequestID.header, id))
    return response
  }
}
