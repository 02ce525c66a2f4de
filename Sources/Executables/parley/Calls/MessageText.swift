import ArgumentParser
import DynamicMessages
import JSON
import MessagesCore
import RPC
import RPCClient
import Synchronization

/// Messages between the JSON of the command line and what a channel carries.
struct MessageText: Sendable {
  let schema: Schema
  /// The form of messages on the wire.
  let codec: ClientChannelConfiguration.Codec

  /// What a message may cost beyond its size: descriptors with very many fields need it, and one person's tool may spend it.
  private static let limits = DecodeLimits(memoryPerByte: 64, memoryFloor: 64 << 20, memoryCeiling: 1 << 30)

  /// The payload of a request.
  func payload(_ json: [UInt8], as descriptor: MessageDescriptor) async throws -> [UInt8] {
    do {
      let wire = try await knowing { registry in
        try descriptor.wireBytes(json: json, options: .init(registry: registry, limits: Self.limits))
      }
      // The text has been read, so it is what the server will read; it goes as it was written.
      return codec == .proto ? wire : json
    } catch let error as DecodeError {
      throw ValidationError("The request is no \(descriptor.name): \(error)")
    }
  }

  /// A response as one line of JSON.
  func line(_ payload: [UInt8], as descriptor: MessageDescriptor) async throws -> String {
    do {
      switch codec {
      case .proto:
        let json = try await knowing { registry in
          try descriptor.jsonBytes(wire: payload, limits: Self.limits, options: .init(registry: registry))
        }
        return String(decoding: json, as: UTF8.self)
      case .json:
        let value = try JSONParser.parse(
          payload, options: .init(maximumDepth: 256, duplicateNames: .lastWins, maximumByteCount: .max))
        return String(decoding: value.encoded(), as: UTF8.self)
      }
    } catch {
      throw RPCError(.internal, "the response is no \(descriptor.name) that can be shown: \(error)", cause: error)
    }
  }

  /// Runs `body` again for every message within an `Any` that the server could tell of after all.
  private func knowing(_ body: (MessageRegistry) throws -> [UInt8]) async throws -> [UInt8] {
    var asked: Set<String> = []
    while true {
      let missed = Missed()
      do { return try body(schema.registry { missed.note($0) }) } catch {
        guard let name = missed.name, asked.insert(name).inserted, await schema.learn(name) else { throw error }
      }
    }
  }

  /// The message that was looked for last, and not found.
  private final class Missed: Sendable {
    private let last = Mutex<String?>(nil)
    var name: String? { last.withLock { $0 } }
    func note(_ name: String) { last.withLock { $0 = name } }
  }
}
