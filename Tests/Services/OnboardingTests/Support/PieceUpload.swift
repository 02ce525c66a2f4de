import JOSE
import MessagesCore
import Outbound
import ParleyAPI
import RPC
import RPCClient
import TestParley
import WellKnown

/// A recording that is sent in pieces under a name.
struct PieceUpload: Sendable {
  var name: String
  var bytes: [UInt8]
  var type = "audio/m4a"
  /// How many bytes the pieces have; the last one repeats.
  var pieces = [10_000]

  /// Sends it, all of it or up to a place.
  func send(_ world: OnboardingWorld, as user: TestUser, upTo end: Int = .max) async throws -> UploadRecordingResponse {
    let head = RecordingHead(
      uploadID: name, contentType: type, sha256: .init(SHA256.digest(bytes)), size: Int64(bytes.count), offset: 0)
    return try await world.client.uploadRecording(options: OnboardingWorld.options(user)) { requests in
      try await requests.write(.init(head: head))
      var rest = bytes.prefix(end)
      var index = 0
      while !rest.isEmpty {
        let count = pieces[min(index, pieces.count - 1)]
        try await requests.write(.init(data: .init(rest.prefix(count))))
        rest = rest.dropFirst(count)
        index += 1
      }
    }
  }

  /// Why it is refused; nil where it is taken.
  func refusal(_ world: OnboardingWorld, as user: TestUser) async -> String? {
    do {
      _ = try await send(world, as: user)
      return nil
    } catch { return (error as? RPCError)?.reason ?? "\(error)" }
  }
}
