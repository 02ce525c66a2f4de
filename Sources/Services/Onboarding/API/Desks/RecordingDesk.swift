internal import Blobs
internal import JOSE
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL

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

  /// Some bytes of a recording, wherever they are.
  func bytes(_ range: Range<Int64>, of recording: KeptRecording, _ user: UUID) async throws -> [UInt8] {
    if let bytes = try await known(range, of: recording, user) { return bytes }
    // It went to the object store this moment.
    let now = try await self.recording(recording.name, of: user)
    guard let bytes = try await known(range, of: now, user) else { throw OnboardingRefusal.noRecording }
    return bytes
  }

  private func known(_ range: Range<Int64>, of recording: KeptRecording, _ user: UUID) async throws -> [UInt8]? {
    guard recording.storedAt == nil else { return try await stored(range, of: recording, user) }
    guard let stage = recording.stage else { return nil }
    var (start, bytes): (Int64, [UInt8]) = (0, [])
    while start < range.upperBound, let piece = try await recordings.piece(at: start, in: stage, of: user) {
      let wanted = (range.lowerBound - start)..<(range.upperBound - start)
      bytes += piece[Int(max(0, min(wanted.lowerBound, Int64(piece.count))))..<Int(min(wanted.upperBound, Int64(piece.count)))]
      start += Int64(piece.count)
    }
    return bytes.count == range.count ? bytes : nil
  }

  private func stored(_ range: Range<Int64>, of recording: KeptRecording, _ user: UUID) async throws -> [UInt8] {
    guard let key = BlobKey(owner: user, digest: recording.digest) else { throw OnboardingRefusal.noRecording }
    do {
      return try await blobs.read(key, range: range.lowerBound...(range.upperBound - 1)) { _, reader in
        try await reader.whole(atMost: SubmissionLimits.recording)
      }
    } catch let error as BlobError {
      try Task.checkCancellation()
      throw error.code == .notFound
        ? OnboardingRefusal.noRecording
        : OnboardingRefusal.providerUnavailable(word: "object_store_unavailable", retryAfter: error.retryAfter)
    }
  }
}
