import MessagesCore
import MessagesWire
import RPC
import RPCClient
import TestSupport
import WellKnown

/// What the walk over all methods needs: calls of methods that are known by their descriptors alone, and the fields of their requests.
enum MethodWalk {
  /// How a call ended.
  struct Ending: Sendable, CustomStringConvertible {
    let code: StatusCode
    let reason: String
    /// The bytes of all responses.
    let bytes: [UInt8]

    var description: String { "\(code.name) \(reason)" }

    /// Whether the responses tell this text.
    func tells(_ text: String) -> Bool {
      let sought = Array(text.utf8)
      guard bytes.count >= sought.count else { return false }
      return (0...bytes.count - sought.count).contains { bytes[$0..<$0 + sought.count].elementsEqual(sought) }
    }
  }

  /// Calls a method with a request of these bytes, and reads at most a hundred responses.
  static func call(
    _ method: MethodInfo, _ request: [UInt8] = [], _ channel: ClientChannel, _ metadata: Metadata = [:]
  ) async -> Ending {
    let descriptor = MethodDescriptor<GoogleProtobuf.Empty, GoogleProtobuf.Empty>(
      service: method.service, name: method.name, kind: method.kind, access: method.access)
    var message = GoogleProtobuf.Empty()
    message.unknownFields = UnknownFields(bytes: request)
    let options = CallOptions(metadata: metadata, deadline: .after(.seconds(60)))
    do {
      let bytes = try await channel.stream(descriptor, options) { [message] call in
        try await call.send(message)
        try await call.finishSending()
        var bytes: [UInt8] = []
        var responses = call.responses
        for _ in 0..<100 {
          guard let response = try await responses.next() else { break }
          bytes += response.unknownFields.bytes
        }
        return bytes
      }
      return Ending(code: .ok, reason: "", bytes: bytes)
    } catch let error as RPCError {
      return Ending(code: error.code, reason: error.reason ?? "", bytes: [])
    } catch {
      return Ending(code: .unknown, reason: "\(error)", bytes: [])
    }
  }

  // MARK: Fields

  /// A field that may name something of somebody's.
  struct Place: Sendable {
    /// The message that declares it and its name: `Profile.user_id`.
    let name: String
    /// Its name alone.
    let field: String
    /// The numbers that lead to it from the request.
    let path: [Int32]

    /// A request that holds this text there and nothing else.
    func request(_ text: String) -> [UInt8] {
      path.reversed().reduce(Array(text.utf8)) { content, number in
        Self.varint(UInt64(number) << 3 | 2) + Self.varint(UInt64(content.count)) + content
      }
    }

    private static func varint(_ value: UInt64) -> [UInt8] {
      var (value, bytes) = (value, [UInt8]())
      while value >= 0x80 {
        bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
        value >>= 7
      }
      return bytes + [UInt8(value)]
    }
  }

  /// The texts of a request whose names look as if they named something, those of the messages in it too.
  static func places(of method: MethodInfo) -> [Place] { places(method.requestDescriptor, [], []) }

  private static func places(_ message: MessageDescriptor, _ path: [Int32], _ seen: [String]) -> [Place] {
    guard !seen.contains(message.name), !message.name.hasPrefix("google.protobuf.") else { return [] }
    let short = message.name.split(separator: ".").last.map(String.init) ?? message.name
    return message.fields.flatMap { field -> [Place] in
      switch field.kind {
      case .message(let inner): return places(inner(), path + [field.number], seen + [message.name])
      case .scalar(.string), .scalar(.bytes):
        guard looksLikeIdentifier(field.name) else { return [] }
        return [Place(name: "\(short).\(field.name)", field: field.name, path: path + [field.number])]
      default: return []
      }
    }
  }

  private static func looksLikeIdentifier(_ name: String) -> Bool {
    let words = Set(name.split(separator: "_").map(String.init))
    return !words.isDisjoint(with: [
      "id", "ids", "name", "names", "token", "tokens", "key", "keys", "subject", "owner", "user", "email", "hash", "cursor",
      "handle",
      "receipt", "code", "reference", "ref", "address",
    ])
  }
}
