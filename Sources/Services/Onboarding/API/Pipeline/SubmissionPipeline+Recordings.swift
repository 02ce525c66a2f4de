internal import Blobs
internal import Jobs
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import Synchronization
internal import Values

/// How far one reader of staged bytes has come.
private final class ReadingPlace: Sendable {
  private let place = Mutex<Int64>(0)

  var offset: Int64 { place.withLock { $0 } }

  func advance(by count: Int) { place.withLock { $0 += Int64(count) } }
}

extension SubmissionPipeline {
  // MARK: Storing

  /// Recordings go to the object store. What it does not take stays where it is, and is as good as stored for what follows.
  ///
  /// A store that is away spends none of the attempts of what follows: it is tried a few times, and then the submission goes on without.
  func storeRecordings(_ course: inout SubmissionCourse) async throws {
    let tries = try await storeTries(of: course)
    let all = try await recordings.recordings(of: course.user)
    var left = all.filter { $0.storedAt == nil }
    try await enter(.storing, done: all.count - left.count, of: all.count, &course)
    var (failed, failures, isAway): ([KeptRecording], [ProviderFailure], Bool) = ([], [], false)
    // Those behind one for which the store was away are not tried now.
    while !left.isEmpty, !isAway {
      let tried = try await store(Self.storedTogether(left), of: course.user)
      // One after the other, so that those are the first.
      left.removeFirst(tried.stored.count + tried.failed.count)
      (failed, failures, isAway) = (failed + tried.failed, failures + tried.failures, tried.isAway)
      if !tried.stored.isEmpty { try await commit(parts(of: course).stored(tried.stored), course) }
    }
    for failure in failures { journal.failed("store", failure, course) }
    guard let failure = failures.max(by: { ($0.retryAfter ?? .zero) < ($1.retryAfter ?? .zero) }) else { return }
    guard failure.isTooLong || tries >= Self.storeTries else {
      try await course.run.step("\(Self.storeTry)\(tries)") {}
      throw JobFailure.unavailable(after: failure.retryAfter, failure.reason)
    }
    let warnings = (failed + left).map { recording in
      let step = recording.step ?? 0
      return SubmissionWarning(step: step, "audio_not_stored", "step \(step): the recording waits for the object store")
    }
    try await commit(course) { [course] transaction in
      try await warn(warnings, after: failure, course, transaction)
    }
  }

  /// How often the store is tried in a round.
  private static let storeTries = 4
  private static let storeTry = "store-"
  /// How many bytes of recordings are read from the database at once to be stored.
  private static let readTogether: Int64 = 2 << 20

  /// Which time the store is tried in this round, from 1.
  private func storeTries(of course: SubmissionCourse) async throws -> Int {
    var tries = 1
    while try await course.run.result(of: "\(Self.storeTry)\(tries)") != nil { tries += 1 }
    return tries
  }

  /// The first of some recordings: as many as are read at once, or one.
  private static func storedTogether(_ recordings: [KeptRecording]) -> [KeptRecording] {
    var bytes: Int64 = 0
    let small = recordings.prefix {
      bytes += $0.size
      return bytes <= readTogether && $0.size <= SubmissionLimits.piece
    }
    return Array(small.isEmpty ? recordings.prefix(1) : small)
  }

  /// How long recordings that the store has may wait for others before that is kept and told.
  private static let longestUntold = Duration.milliseconds(500)

  /// What became of some recordings, the first of those that were to be stored.
  private struct Tried {
    var stored: [KeptRecording] = []
    var failed: [KeptRecording] = []
    /// Why, for each that failed.
    var failures: [ProviderFailure] = []
    /// Whether the store is of no use for others either.
    var isAway = false
  }

  /// Has the store take recordings, until it is away or what it has should be told.
  private func store(_ group: [KeptRecording], of user: UUID) async throws -> Tried {
    let pieces = group.count > 1 ? try await recordings.firstPieces(in: group.compactMap(\.stage), of: user) : [:]
    var tried = Tried()
    let begun = ContinuousClock.now
    for recording in group {
      do throws(BlobError) {
        try await store(recording, of: user, bytes: recording.stage.flatMap { pieces[$0] })
        tried.stored.append(recording)
      } catch {
        try Task.checkCancellation()
        tried.failed.append(recording)
        tried.failures.append(ProviderFailure(error))
        tried.isAway = [.unavailable, .refused].contains(error.code)
      }
      if tried.isAway || begun.duration(to: .now) > Self.longestUntold { break }
    }
    return tried
  }

  /// Has the store take a recording.
  ///
  /// - Parameter bytes: All of it, where they were read before.
  func store(_ recording: KeptRecording, of user: UUID, bytes: [UInt8]? = nil) async throws(BlobError) {
    guard let key = BlobKey(owner: user, digest: recording.digest), let stage = recording.stage else { return }
    if let bytes, bytes.count == recording.size {
      return try await blobs.put(key, BlobContent(bytes), type: recording.mediaType)
    }
    let recordings = recordings
    let content = BlobContent(size: recording.size) {
      let place = ReadingPlace()
      return {
        guard place.offset < recording.size, let piece = try await recordings.piece(at: place.offset, in: stage, of: user) else {
          return nil
        }
        place.advance(by: piece.count)
        return piece
      }
    }
    try await blobs.put(key, content, type: recording.mediaType)
  }

  /// The bytes of a recording, wherever they are.
  func sample(_ recording: KeptRecording, of user: UUID) async throws -> SpokenSample {
    var bytes: [UInt8] = []
    if recording.storedAt != nil, let key = BlobKey(owner: user, digest: recording.digest) {
      do { bytes = try await blobs.get(key, atMost: SubmissionLimits.recording) } catch let error as BlobError {
        if error.code == .notFound { try await recordings.markLost(recording, of: user) }
        throw ProviderFailure(
          error.code == .notFound ? RecordingStore.lost : "object_store_unavailable", isTemporary: error.code != .notFound,
          retryAfter: error.retryAfter, "\(error.code)")
      }
    } else if let stage = recording.stage {
      bytes.reserveCapacity(Int(recording.size))
      while bytes.count < recording.size, let piece = try await recordings.piece(at: Int64(bytes.count), in: stage, of: user) {
        bytes += piece
      }
    }
    return SpokenSample(
      filename: "step_\(recording.step ?? 0).\(recording.format)", mediaType: recording.mediaType, bytes: bytes)
  }

  // MARK: Telling

  func parts(of course: SubmissionCourse) -> PartStore {
    PartStore(PartStore.Place(course.id, of: course.user, tells: course.tells), at: now())
  }

  /// Does a part of the work in one round trip where it may: a later round ends where newer answers have come, and has to ask first.
  func commit(_ part: Query, _ course: SubmissionCourse) async throws {
    guard course.round > 0 else {
      try await course.run.commit { $0.add(part) }
      return
    }
    try await commit(course) { $0.add(part) }
  }

  /// Tells that a part of a stage is done. How many are is counted under the job's lock, so that no number comes twice.
  func tell(
    _ stage: SubmissionStage, _ recording: KeptRecording, _ course: SubmissionCourse, _ transaction: Transaction,
    _ done: KeyPath<RecordingStore.Progress, Int>
  ) async throws {
    guard course.tells else { return }
    let progress = try await recordings.progress(of: course.user, on: transaction)
    try await submissions.note(
      stage, done: progress[keyPath: done], of: progress.total, step: recording.step ?? 0, in: course.id, of: course.user,
      at: now(),
      transaction)
  }
}
