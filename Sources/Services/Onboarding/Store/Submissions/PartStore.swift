internal import OnboardingDomain
public import PostgreSQL

/// The parts of the work on a submission, each one statement: what was done to a recording, the warning that it settles, and the event
/// that tells of it. Whoever runs it holds the job, so that no number of an event comes twice.
public struct PartStore: Sendable {
  /// Which submission it is a part of, and whether those who watch are told of it.
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

  private let place: Place
  private let recording: KeptRecording
  private let now: Timestamp

  /// The part of a recording.
  public init(_ recording: KeptRecording, _ place: Place, at now: Timestamp) {
    self.recording = recording
    self.place = place
    self.now = now
  }

  /// The object store has the recording: its bytes need no longer wait.
  public var stored: Query {
    part(
      """
      emptied as (
        delete from onboarding.staged_bytes where user_id = \(place.user) and stage_id = (
          select stage_id from onboarding.recording where user_id = \(place.user) and digest = \(recording.digest))),
      changed as (
        update onboarding.recording set stored_at = \(now), stage_id = null, updated_at = \(now)
        where user_id = \(place.user) and digest = \(recording.digest))
      """, settling: "audio_not_stored", .storing, isDone: "stored_at is not null")
  }

  /// The recording was transcribed, or there is nothing to transcribe in it.
  public func transcribed(_ outcome: RecordingStore.Outcome, duration: Duration?) -> Query {
    part(
      "changed as (\(part: RecordingStore.write(recording.digest, of: place.user, outcome, duration, at: now)))",
      settling: "transcription_failed", .transcribing, isDone: "state <> 'pending'")
  }

  /// What is counted sees the recordings as they were: this one is added.
  private func part(_ change: Query, settling reason: String, _ stage: SubmissionStage, isDone: Query) -> Query {
    let settled: Query = """
      settled as (
        delete from onboarding.submission_warning
        where user_id = \(place.user) and submission_id = \(place.submission) and step = \(Int32(recording.step ?? 0))
          and reason = \(reason))
      """
    guard place.tells else { return "with \(part: change), \(part: settled) select" }
    return """
      with \(part: change), \(part: settled),
      noted as (
        insert into onboarding.submission_event (user_id, submission_id, sequence, stage, done, total, step, at)
        select \(place.user), \(place.submission), (
            select coalesce(max(sequence), 0) + 1 from onboarding.submission_event
            where user_id = \(place.user) and submission_id = \(place.submission)),
          \(stage.rawValue), count(*) filter (where \(part: isDone) or digest = \(recording.digest)), count(*),
          \(Int32(recording.step ?? 0)), \(now)
        from onboarding.recording where user_id = \(place.user)
          and digest in (select recording from onboarding.answer where user_id = \(place.user) and recording is not null)),
      moved as (
        update onboarding.submission set stage = \(stage.rawValue), updated_at = \(now), done_at = null
        where user_id = \(place.user) and id = \(place.submission))
      select pg_notify(\(SubmissionStore.channel), \(place.submission)::uuid::text)
      """
  }
}
