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
  /// What is said of the recording before its bytes: all of them, and the truth, unless a test changes it.
  var head: RecordingHead
  /// What is sent.
  var bytes: [UInt8]
  /// How many bytes the pieces have; the last one repeats.
  var pieces: [Int]

  init(name: String, bytes: [UInt8], type: String = "audio/m4a", pieces: [Int] = [10_000]) {
    head = RecordingHead(
      uploadID: name, contentType: type, sha256: .init(SHA256.digest(bytes)), size: Int64(bytes.count), offset: 0)
    self.bytes = bytes
    self.pieces = pieces
  }

  /// What it is called.
  var name: String { head.uploadID }

  /// What a stream begins with that goes on at a place.
  func beginning(at offset: Int) -> RecordingHead {
    var head = head
    head.offset = Int64(offset)
    return head
  }

  /// Sends it, all of it or what is between two places, to this service or to another copy of it.
  func send(
    _ world: OnboardingWorld, as user: TestUser, from start: Int = 0, upTo end: Int = .max,
    to client: ParleyAPI.OnboardingService.Client? = nil
  ) async throws -> UploadRecordingResponse {
    try await send(through: client ?? world.client, as: user, from: start, upTo: end)
  }

  /// Sends it to a service, all of it or what is between two places.
  func send(
    through client: ParleyAPI.OnboardingService.Client, as user: TestUser, from start: Int = 0, upTo end: Int = .max
  ) async throws -> UploadRecordingResponse {
    try await client.uploadRecording(options: OnboardingWorld.options(user)) { requests in
      try await requests.write(.init(head: beginning(at: start)))
      var rest = bytes.prefix(end).dropFirst(start)
      var index = 0
      while !rest.isEmpty {
        let count = pieces[min(index, pieces.count - 1)]
        try await requests.write(.init(data: .init(rest.prefix(count))))
        rest = rest.dropFirst(count)
        index += 1
      }
    }
  }

  /// Sends it, and goes on where it broke off while the service has too much to do.
  func sendAsItGoes(
    through client: ParleyAPI.OnboardingService.Client, as user: TestUser
  ) async throws -> UploadRecordingResponse {
    var place = 0
    while true {
      do { return try await send(through: client, as: user, from: place) } catch let error as RPCError
        where error.code == .resourceExhausted
      {
        let progress = try? await client.getUpload(.init(uploadID: name), options: OnboardingWorld.options(user))
        place = progress.map { Int($0.offset) } ?? place
        try await Task.sleep(for: .milliseconds(50))  // between two attempts
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

extension UploadRecordingResponse {
  /// How long the recording is; zero where that is not said.
  var seconds: Double { Double(duration?.seconds ?? 0) + Double(duration?.nanos ?? 0) / 1e9 }
}
