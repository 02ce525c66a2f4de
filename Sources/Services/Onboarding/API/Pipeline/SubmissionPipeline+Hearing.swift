internal import Audio
internal import Jobs
internal import OnboardingDomain
internal import OnboardingStore
internal import PostgreSQL
internal import Synchronization

extension SubmissionPipeline {
  /// The step of a job that has written something down, in this attempt or one before: the answers are to be understood anew.
  static let newWords = "words"
  /// How often a recording is in memory: as it was loaded, in the form that is sent, and in what is on its way.
  static let copies = 3
  /// How many recordings are transcribed at once.
  private static let atOnce = 4

  /// What has come of recordings, and is not kept yet.
  private final class Hearing: Sendable {
    private struct State {
      var heard: [PartStore.Heard] = []
      var failures: [(KeptRecording, ProviderFailure)] = []
    }

    private let state = Mutex(State())

    var failures: [(KeptRecording, ProviderFailure)] { state.withLock { $0.failures } }

    func add(_ heard: PartStore.Heard) { state.withLock { $0.heard.append(heard) } }

    func add(_ failure: ProviderFailure, to recording: KeptRecording) {
      state.withLock { $0.failures.append((recording, failure)) }
    }

    /// What was heard since somebody asked last.
    func take() -> [PartStore.Heard] {
      state.withLock { state in
        defer { state.heard = [] }
        return state.heard
      }
    }
  }

  /// Recordings are transcribed, some at once. What comes while the last of it is being kept is kept together.
  func writeDown(_ course: inout SubmissionCourse) async throws {
    let all = try await recordings.recordings(of: course.user)
    let waiting = all.filter { $0.state == .pending }
    try await enter(.transcribing, done: all.count - waiting.count, of: all.count, &course)
    let (snapshot, hearing) = (course, Hearing())
    let (together, alone) = Self.heardTogether(waiting)
    for group in together {
      try await room.hold(Int(group.reduce(0) { $0 + $1.size }) * Self.copies) {
        try await hear(together: group, snapshot, hearing)
      }
    }
    try await some(alone, snapshot, hearing) { recording in
      // Nobody is paid for what newer answers may do without; this course ends at its next step.
      guard try await counts(snapshot, on: database) else { return }
      let heard = try await room.hold(Int(recording.size) * Self.copies) {
        try await words(of: recording, try await sample(recording, of: snapshot.user), nil, snapshot)
      }
      hearing.add(heard)
    }
    for (recording, failure) in hearing.failures.sorted(by: { ($0.0.step ?? 0) < ($1.0.step ?? 0) }) {
      journal.failed("transcribe", failure, course)
      guard try isFinal(failure, &course) else { continue }
      try await keep(failure, of: recording, course)
    }
    try comeBack(course)
  }

  /// Small recordings, as many as are inspected together, and those that are heard each by itself.
  private static func heardTogether(_ recordings: [KeptRecording]) -> (together: [[KeptRecording]], alone: [KeptRecording]) {
    var (groups, bytes): ([[KeptRecording]], Int64) = ([], 0)
    for recording in recordings where recording.size <= inspectedTogether / 2 {
      if let count = groups.last?.count, count < SilenceGate.mostTogether, bytes + recording.size <= inspectedTogether {
        groups[groups.count - 1].append(recording)
        bytes += recording.size
      } else {
        groups.append([recording])
        bytes = recording.size
      }
    }
    return (groups, recordings.filter { $0.size > inspectedTogether / 2 })
  }

  private static let inspectedTogether = Int64(SilenceGate.bytesTogether)

  /// Loads some recordings, has them inspected in one go, and each of them transcribed: nothing else has their bytes.
  private func hear(together group: [KeptRecording], _ course: SubmissionCourse, _ hearing: Hearing) async throws {
    let loading = Loading()
    try await some(group, course, hearing) { loading.add(try await sample($0, of: course.user), of: $0) }
    let samples = loading.samples
    let loaded = group.filter { samples[$0.digest] != nil }
    let facts = await inspector.inspect(together: loaded.compactMap { samples[$0.digest] })
    let known = Dictionary(zip(loaded.map(\.digest), facts), uniquingKeysWith: { first, _ in first })
    try await some(loaded, course, hearing) { recording in
      guard let sample = samples[recording.digest], try await counts(course, on: database) else { return }
      hearing.add(try await words(of: recording, sample, known[recording.digest] ?? nil, course))
    }
  }

  /// Recordings that are loaded, some at once.
  private final class Loading: Sendable {
    private let loaded = Mutex<[[UInt8]: SpokenSample]>([:])

    var samples: [[UInt8]: SpokenSample] { loaded.withLock { $0 } }

    func add(_ sample: SpokenSample, of recording: KeptRecording) { loaded.withLock { $0[recording.digest] = sample } }
  }

  /// Does something with each of some recordings, some at once. What is heard while the last of it is being kept is kept together.
  private func some(
    _ recordings: [KeptRecording], _ course: SubmissionCourse, _ hearing: Hearing,
    _ body: @escaping @Sendable (KeptRecording) async throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      var next = recordings.makeIterator()
      func add() {
        guard let recording = next.next() else { return }
        group.addTask {
          do { try await body(recording) } catch let failure as ProviderFailure { hearing.add(failure, to: recording) }
        }
      }
      for _ in 0..<Self.atOnce { add() }
      do {
        while try await group.next() != nil {
          add()
          try await keep(hearing.take(), course)
        }
      } catch {
        // What was paid for is kept, whatever became of the others.
        try await keep(hearing.take(), course)
        throw error
      }
    }
  }

  /// What is said in a recording.
  ///
  /// - Parameters:
  ///   - recording: The recording.
  ///   - sample: The same, loaded.
  ///   - facts: What is known of it by now; nil to have it inspected.
  ///   - course: For what.
  private func words(
    of recording: KeptRecording, _ sample: SpokenSample, _ facts: RecordingFacts?, _ course: SubmissionCourse
  ) async throws -> PartStore.Heard {
    let facts = if let facts { facts } else { try await inspector.inspect(sample) }
    switch facts.loudness {
    case .silent: return .init(recording, .nothing(.noSpeech), duration: facts.duration)
    case .tooShort: return .init(recording, .nothing(.tooShort), duration: facts.duration)
    case .speechPossible:
      let key = "\(course.id)/\(recording.name.prefix(16))/\(course.round)"
      let words = try await providers.transcriber.transcribe(try await inspector.sendable(sample), key: key).storable
      let outcome = words.isEmpty ? .nothing(.noSpeech) : RecordingStore.Outcome.words(words, model: providers.transcriber.model)
      return .init(recording, outcome, duration: facts.duration)
    }
  }

  private func keep(_ heard: [PartStore.Heard], _ course: SubmissionCourse) async throws {
    guard !heard.isEmpty else { return }
    // Words that were paid for are the recording's, whoever's answer it is by now: newer answers do not matter.
    let hasWords = heard.contains { if case .words = $0.outcome { true } else { false } }
    let isKnown = try await course.run.result(of: Self.newWords) != nil
    try await course.run.commit(finishing: hasWords && !isKnown ? Self.newWords : nil) {
      $0.add(parts(of: course).transcribed(heard))
    }
    for one in heard { journal.written(one.outcome) }
  }

  private func keep(_ failure: ProviderFailure, of recording: KeptRecording, _ course: SubmissionCourse) async throws {
    let outcome = RecordingStore.Outcome.failed(reason: failure.reason)
    try await commit(course) { transaction in
      try await recordings.written([.init(recording, outcome, duration: nil)], of: course.user, at: now(), in: transaction)
      let step = recording.step ?? 0
      try await warn(
        .init(step: step, "transcription_failed", "step \(step): the recording could not be written down (\(failure.reason))"),
        after: failure, course, transaction)
      try await tell(.transcribing, recording, course, transaction, \.written)
    }
    journal.written(outcome)
  }
}
