public import Logging
public import RPCServer
internal import Telemetry

/// Gives every plain HTTP request an id, the caller's if it is sane, and sends it back; every line that is logged meanwhile
/// has it.
public struct HTTPRequestID: HTTPMiddleware {
  /// The id of the request that the current task serves.
  @TaskLocal public static var current: String?

  /// Makes the middleware; it has no settings.
  public init() {}

  /// Answers the request by way of `next`.
  public func handle(_ request: HTTPServerRequest, next: HTTPRoute.Handler) async throws -> HTTPServerResponse {
    let id = request.header(RequestID.header).flatMap { Self.isSane($0) ? $0 : nil } ?? Self.make()
    var response = try await Self.$current.withValue(id) { try await next(request) }
    response.headers.append((RequestID.header, id))
    return response
  }

  /// The fields that every log line has while a request or a call is served.
  public static let metadataProvider = Logger.MetadataProvider {
    var fields = RequestID.metadataProvider.get()
    if let current { fields["request_id"] = .string(current) }
    return fields
  }

  /// Whether what a caller sent may be taken over: 1 to 64 letters, digits, and `-_.:`, so that no log line can be forged.
  static func isSane(_ text: String) -> Bool {
    let bytes = text.utf8
    guard (1...64).contains(bytes.count) else { return false }
    return bytes.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ":"): true
      default: false
      }
    }
  }

  /// A new id: unique, not secret.
  static func make() -> String {
    let text = String(UInt64.random(in: .min ... .max), radix: 36)
    return String(repeating: "0", count: 13 - text.count) + text
  }
}
