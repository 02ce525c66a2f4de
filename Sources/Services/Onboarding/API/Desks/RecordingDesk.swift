internal import Blobs
internal import JOSE
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import Values

/// Lets people hear their own recordings, also where the object store makes no links.
struct RecordingDesk: Sendable {
  /// Where they are, before the name of each.
  static let path = "/onboarding/recordings/"

  let database: Database
  let recordings: RecordingStore
  let blobs: any BlobStore

  /// A recording of somebody's.
  ///
  /// - Throws: ``OnboardingRefusal/noRecording``, also for somebody else's.
  func recording(_ name: String, of user: UUID) async throws -> KeptRecording {
    guard let digest = Hexadecimal.bytes(name), digest.count == 32,
      let recording = try await recordings.recording(digest, of: user, on: database)
    else { throw OnboardingRefusal.noRecording }
    return recording
  }

  /// How many bytes of one that waits in the database are in memory at once.
  private static let piece: Int64 = 256 << 10

  /// Asks for a recording where its bytes are, before anything of it is sent.
  ///
  /// - Throws: ``OnboardingRefusal/noRecording`` where the object store has it no more, ``OnboardingRefusal/providerUnavailable(word:retryAfter:)``
  ///   where that does not answer.
  func mustBeThere(_ recording: KeptRecording, _ user: UUID) async throws {
    guard recording.storedAt != nil else { return }
    guard let key = BlobKey(owner: user, digest: recording.digest) else { throw OnboardingRefusal.noRecording }
    do {
      guard try await blobs.facts(key) != nil else { throw OnboardingRefusal.noRecording }
    } catch let error as BlobError { throw try Self.refusal(error) }
  }

  /// Hands on some bytes of a recording, wherever they are, no more than a piece of them at once.
  ///
  /// - Parameters:
  ///   - range: Which bytes; at least one.
  ///   - recording: The recording.
  ///   - user: Whose it is.
  ///   - send: Gets each piece; what it waits for holds the next one back.
  func send(
    _ range: Range<Int64>, of recording: KeptRecording, _ user: UUID, _ send: ([UInt8]) async throws -> Void
  ) async throws {
    var (recording, place) = (recording, range.lowerBound)
    if recording.storedAt == nil, let stage = recording.stage {
      while place < range.upperBound {
        let count = min(Self.piece, range.upperBound - place)
        guard let bytes = try await recordings.bytes(at: place, atMost: count, in: stage, of: user) else { break }
        try await send(bytes)
        place += Int64(bytes.count)
      }
      guard place < range.upperBound else { return }
      // It went to the object store meanwhile.
      recording = try await self.recording(recording.name, of: user)
    }
    guard recording.storedAt != nil, let key = BlobKey(owner: user, digest: recording.digest) else {
      throw OnboardingRefusal.noRecording
    }
    do {
      try await blobs.read(key, range: place...(range.upperBound - 1)) { _, reader in
        while let bytes = try await reader.next() { try await send(bytes) }
      }
    } catch let error as BlobError { throw try Self.refusal(error) }
  }

  private static func refusal(_ error: BlobError) throws -> OnboardingRefusal {
    try Task.checkCancellation()
    return error.code == .notFound
      ? .noRecording : .providerUnavailable(word: "object_store_unavailable", retryAfter: error.retryAfter)
  }
}
