internal import Blobs
internal import Jobs
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import Synchronization

/// How far one reader of staged bytes has come.
private final class ReadingPlace: Sendable {
  private let place = Mutex<Int64>(0)

  var offset: Int64 { place.withLock { $0 } }

  func advance(by count: Int) { place.withLock { $0 += Int64(count) } }
}

extension SubmissionPipeline {
  /// The step of a job that has written something down, in this attempt or one before: the answers are to be understood anew.
  static let newWords = "words"
  /// How often a recording is in memory: as it was loaded, in the form that is sent, and in what is on its way.
  static let copies = 3
  /// How many recordings are written down at once.
  private static let atOnce = 4

  // MARK: Storing

  /// Recordings go to the object store. One that it does not take stays where it is, and is as good as stored for what follows.
  ///
  /// The store is tried as often as a provider, and spends none of the attempts that those have.
  func storeRecordings(_ course: inout SubmissionCourse) async throws {
    let tries = try await storeTries(of: course)
    let all = try await recordings.recordings(of: course.user)
    try await enter(.storing, done: all.count { $0.storedAt != nil }, of: all.count, &course)
    for recording in all where recording.storedAt == nil {
      do throws(BlobError) { try await store(recording, of: course.user) } catch {
        let failure = ProviderFailure(error)
        journal.failed("store", failure, course)
        guard failure.isTooLong || tries >= Self.storeTries else {
          course.postpone(failure)
          continue
        }
        let step = recording.step ?? 0
        try await commit(course) { transaction in
          try await warn(
            .init(step: step, "audio_not_stored", "step \(step): the recording waits for the object store"), after: failure,
            course, transaction)
        }
        continue
      }
      try await commit(part(recording, course).stored, course)
    }
    guard let failure = course.postponed else { return }
    try await course.run.step("\(Self.storeTry)\(tries)") {}
    throw JobFailure.unavailable(after: failure.retryAfter, failure.reason)
  }

  /// How often the store is tried in a round.
  private static let storeTries = 4
  private static let storeTry = "store-"

  /// Which time the store is tried in this round, from 1.
  private func storeTries(of course: SubmissionCourse) async throws -> Int {
    var tries = 1
    while try await course.run.result(of: "\(Self.storeTry)\(tries)") != nil { tries += 1 }
    return tries
  }

  func store(_ recording: KeptRecording, of user: UUID) async throws(BlobError) {
    guard let key = BlobKey(owner: user, digest: recording.digest), let stage = recording.stage else { return }
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

  // MARK: Writing down

  /// Recordings are written down, some at once.
  func writeDown(_ course: inout SubmissionCourse) async throws {
    let all = try await recordings.recordings(of: course.user)
    let waiting = all.filter { $0.state == .pending }
    try await enter(.transcribing, done: all.count - waiting.count, of: all.count, &course)
    let snapshot = course
    var failures: [(KeptRecording, ProviderFailure)] = []
    try await withThrowingTaskGroup(of: (KeptRecording, ProviderFailure?).self) { group in
      var next = waiting.makeIterator()
      func add() {
        guard let recording = next.next() else { return }
        group.addTask {
          // Nobody is paid for what newer answers may do without; this course ends at its next step.
          guard try await self.counts(snapshot, on: self.database) else { return (recording, nil) }
          return (recording, try await self.writeDown(recording, snapshot))
        }
      }
      for _ in 0..<Self.atOnce { add() }
      while let (recording, failure) = try await group.next() {
        if let failure { failures.append((recording, failure)) }
        add()
      }
    }
    for (recording, failure) in failures.sorted(by: { ($0.0.step ?? 0) < ($1.0.step ?? 0) }) {
      journal.failed("transcribe", failure, course)
      guard try isFinal(failure, &course) else { continue }
      try await keep(.failed(reason: failure.reason), nil, recording, course, after: failure)
    }
    try comeBack(course)
  }

  /// - Returns: Why it did not go well.
  private func writeDown(_ recording: KeptRecording, _ course: SubmissionCourse) async throws -> ProviderFailure? {
    do {
      try await room.hold(Int(recording.size) * Self.copies) { try await words(of: recording, course) }
      return nil
    } catch let failure as ProviderFailure {
      return failure
    }
  }

  /// Loads a recording, and has it written down: nothing else has its bytes.
  private func words(of recording: KeptRecording, _ course: SubmissionCourse) async throws {
    let sample = try await sample(recording, of: course.user)
    let facts = try await inspector.inspect(sample)
    switch facts.loudness {
    case .silent: try await keep(.nothing(.noSpeech), facts.duration, recording, course)
    case .tooShort: try await keep(.nothing(.tooShort), facts.duration, recording, course)
    case .speechPossible:
      let key = "\(course.id)/\(recording.name.prefix(16))/\(course.round)"
      let words = try await providers.transcriber.transcribe(try await inspector.sendable(sample), key: key).storable
      try await keep(
        words.isEmpty ? .nothing(.noSpeech) : .words(words, model: providers.transcriber.model), facts.duration, recording,
        course)
    }
  }

  private func keep(
    _ outcome: RecordingStore.Outcome, _ duration: Duration?, _ recording: KeptRecording, _ course: SubmissionCourse,
    after failure: ProviderFailure? = nil
  ) async throws {
    if let failure {
      try await commit(course) { transaction in
        try await recordings.written(recording.digest, of: course.user, outcome, duration: duration, at: now(), in: transaction)
        let step = recording.step ?? 0
        try await warn(
          .init(step: step, "transcription_failed", "step \(step): the recording could not be written down (\(failure.reason))"),
          after: failure, course, transaction)
        try await tell(.transcribing, recording, course, transaction, \.written)
      }
    } else {
      // Words that were paid for are the recording's, whoever's answer it is by now: newer answers do not matter.
      let hasWords = if case .words = outcome { true } else { false }
      try await course.run.commit(finishing: hasWords ? Self.newWords : nil) {
        $0.add(part(recording, course).transcribed(outcome, duration: duration))
      }
    }
    journal.written(outcome)
  }

  // MARK: Telling

  private func part(_ recording: KeptRecording, _ course: SubmissionCourse) -> PartStore {
    PartStore(recording, PartStore.Place(course.id, of: course.user, tells: course.tells), at: now())
  }

  /// Does a part of the work in one round trip where it may: a later round ends where newer answers have come, and has to ask first.
  private func commit(_ part: Query, _ course: SubmissionCourse) async throws {
    guard course.round > 0 else {
      try await course.run.commit { $0.add(part) }
      return
    }
    try await commit(course) { $0.add(part) }
  }

  /// Tells that a part of a stage is done. How many are is counted under the job's lock, so that no number comes twice.
  private func tell(
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
