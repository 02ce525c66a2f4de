internal import OnboardingDomain
public import PostgreSQL
public import Values

/// Parts of the work on a submission, some at once in one statement: what was done to recordings, the warnings that it settles, and an event
/// of each that tells of it. Whoever runs it holds the job, so that no number of an event comes twice.
public struct PartStore: Sendable {
  /// Which submission they are parts of, and whether those who watch are told of them.
  public struct Place: Sendable, Hashable {
    let user: UUID
    let submission: UUID
    let tells: Bool

    /// A submission of somebody's.
    public init(_ submission: UUID, of user: UUID, tells: Bool) {
      self.submission = submission
      self.user = user
      self.tells = tells
    }
  }

  /// A recording in which somebody, or nobody, was heard.
  public struct Heard: Sendable {
    let recording: KeptRecording
    /// What became of it.
    public let outcome: RecordingStore.Outcome
    let duration: Duration?

    /// What became of a recording, and how long it is, where that is known by now.
    public init(_ recording: KeptRecording, _ outcome: RecordingStore.Outcome, duration: Duration?) {
      self.recording = recording
      self.outcome = outcome
      self.duration = duration
    }
  }

  private let place: Place
  private let now: Instant

  /// Parts of the work on a submission.
  public init(_ place: Place, at now: Instant) {
    self.place = place
    self.now = now
  }

  /// The object store has these recordings: their bytes need no longer wait.
  public func stored(_ recordings: [KeptRecording]) -> Query {
    let digests = recordings.map { ByteString($0.digest) }
    return parts(
      recordings,
      """
      emptied as (
        delete from onboarding.staged_bytes where user_id = \(place.user) and stage_id in (
          select stage_id from onboarding.recording where user_id = \(place.user) and digest = any(\(digests)))),
      changed as (
        update onboarding.recording set stored_at = \(now), stage_id = null, updated_at = \(now)
        where user_id = \(place.user) and digest = any(\(digests)))
      """, settling: "audio_not_stored", .storing, isDone: "stored_at is not null")
  }

  /// These recordings were transcribed, or there is nothing to transcribe in them.
  public func transcribed(_ heard: [Heard]) -> Query {
    parts(
      heard.map(\.recording), "changed as (\(part: RecordingStore.write(heard, of: place.user, at: now)))",
      settling: "transcription_failed", .transcribing, isDone: "state <> 'pending'")
  }

  /// What is counted sees the recordings as they were: these are added, each in its turn.
  private func parts(
    _ recordings: [KeptRecording], _ change: Query, settling reason: String, _ stage: SubmissionStage, isDone: Query
  ) -> Query {
    let (digests, steps) = (recordings.map { ByteString($0.digest) }, recordings.map { Int32($0.step ?? 0) })
    let settled: Query = """
      settled as (
        delete from onboarding.submission_warning
        where user_id = \(place.user) and submission_id = \(place.submission) and step = any(\(steps)) and reason = \(reason))
      """
    guard place.tells else { return "with \(part: change), \(part: settled) select" }
    return """
      with \(part: change), \(part: settled),
      before as (
        select count(*) filter (where \(part: isDone) and digest <> all(\(digests))) as done, count(*) as total, (
            select coalesce(max(sequence), 0) from onboarding.submission_event
            where user_id = \(place.user) and submission_id = \(place.submission)) as sequence
        from onboarding.recording where user_id = \(place.user)
          and digest in (select recording from onboarding.answer where user_id = \(place.user) and recording is not null)),
      noted as (
        insert into onboarding.submission_event (user_id, submission_id, sequence, stage, done, total, step, at)
        select \(place.user)::uuid, \(place.submission)::uuid, before.sequence + part.place, \(stage.rawValue),
          before.done + part.place, before.total, part.step, \(now)
        from before, unnest(\(steps)) with ordinality as part (step, place)),
      moved as (
        update onboarding.submission set stage = \(stage.rawValue), updated_at = \(now), done_at = null
        where user_id = \(place.user) and id = \(place.submission))
      select pg_notify(\(SubmissionStore.channel), \(place.submission)::uuid::text)
      """
  }
}
