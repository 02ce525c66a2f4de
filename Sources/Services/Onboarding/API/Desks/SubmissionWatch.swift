internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import PostgreSQL

/// Tells of submissions as the work on them goes on.
struct SubmissionWatch: Sendable {
  let submissions: SubmissionStore
  let hub: ProgressHub

  /// A submission; the newest where `id` is empty.
  func current(_ id: String, of user: UUID) async throws -> Submission { try await message(try await kept(id, of: user)) }

  /// Sends every event behind a place, until the work ends.
  func tell(
    _ request: WatchSubmissionRequest, of user: UUID, _ send: (WatchSubmissionResponse) async throws -> Void
  ) async throws {
    let kept = try await kept(request.submissionID, of: user)
    var offset: Int64 = 0
    if !request.after.isEmpty {
      guard let position = ProgressPosition(request.after) else {
        throw OnboardingRefusal.invalid(field: "after", "a position of ours, or empty")
      }
      // A place in another submission says nothing of this one: it is told from its beginning.
      if position.epoch == kept.id.description { offset = position.offset }
    }
    try await hub.following(kept.id, of: user, atMost: SubmissionLimits.watchers) { signal in
      while true {
        let events = try await submissions.events(of: kept.id, user, after: offset, limit: 100)
        for event in events {
          let warnings = event.stage.isLast ? try await submissions.warnings(of: kept.id, user) : []
          try await send(.init(submission: .init(kept, at: event, warnings), step: Int32(event.step)))
          offset = event.sequence
          if event.stage.isLast { return }
        }
        if events.isEmpty {
          // It may be gone with its account.
          guard let current = try await submissions.submission(kept.id, of: user) else { throw OnboardingRefusal.noSubmission }
          // Who has seen the end already is told nothing more.
          if current.doneAt != nil, try await submissions.events(of: kept.id, user, after: offset, limit: 1).isEmpty { return }
          _ = try await signal.wait(atMost: Self.longestPause)
        }
      }
    }
  }

  /// How long who watches goes without a look of its own: the hub looks for all of them every second.
  private static let longestPause = Duration.seconds(60)

  /// Returns when the work has ended, or time is up.
  func waitForEnd(of kept: KeptSubmission, atMost longest: Duration) async throws {
    guard kept.doneAt == nil, longest > .zero else { return }
    let end = ContinuousClock.now.advanced(by: longest)
    try await hub.following(kept.id, of: kept.user) { signal in
      while true {
        guard let current = try await submissions.submission(kept.id, of: kept.user) else { throw OnboardingRefusal.noSubmission }
        if current.doneAt != nil { return }
        let left = ContinuousClock.now.duration(to: end)
        guard left > .zero else { return }
        _ = try await signal.wait(atMost: min(left, Self.longestPause))
      }
    }
  }

  private func kept(_ id: String, of user: UUID) async throws -> KeptSubmission {
    let found: KeptSubmission?
    if id.isEmpty {
      found = try await submissions.newest(of: user)
    } else {
      found = if let id = UUID(id) { try await submissions.submission(id, of: user) } else { nil }
    }
    guard let found else { throw OnboardingRefusal.noSubmission }
    return found
  }

  /// How far a submission has come.
  func message(_ kept: KeptSubmission) async throws -> Submission {
    Submission(
      kept, at: try await submissions.lastEvent(of: kept.id, kept.user), try await submissions.warnings(of: kept.id, kept.user))
  }
}
