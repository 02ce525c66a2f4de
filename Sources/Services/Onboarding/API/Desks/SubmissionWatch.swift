internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import Values

/// Tells of submissions as the work on them goes on.
struct SubmissionWatch: Sendable {
  let submissions: SubmissionStore
  let hub: ProgressHub

  /// A submission; the newest where `id` is empty.
  func current(_ id: String, of user: UUID) async throws -> Submission { try await message(try await kept(id, of: user)) }

  /// Sends every event behind a place, until the work ends or time is up: whoever watches again goes on where this ended.
  ///
  /// - Parameters:
  ///   - request: Which submission, and the place.
  ///   - user: Whose it is.
  ///   - longest: The time.
  ///   - send: Gets what there is to tell.
  func tell(
    _ request: WatchSubmissionRequest, of user: UUID, atMost longest: Duration,
    _ send: (WatchSubmissionResponse) async throws -> Void
  ) async throws {
    let end = ContinuousClock.now.advanced(by: longest)
    let kept = try await kept(request.submissionID, of: user)
    var offset: Int64 = 0
    if !request.after.isEmpty {
      guard let position = ProgressPosition(request.after) else {
        throw OnboardingRefusal.invalid(field: "after", "a position of ours, or empty")
      }
      // A place in another submission says nothing of this one: it is told from its beginning.
      if position.epoch == kept.id.description { offset = position.offset }
    }
    try await hub.following(kept.id, of: user, atMost: SubmissionLimits.watchers) { watcher in
      while true {
        let news = try await news(of: kept, after: offset)
        for event in news.events {
          let warnings = event.stage.isLast ? try await submissions.warnings(of: kept.id, user) : []
          try await send(.init(submission: .init(kept, at: event, warnings), step: Int32(event.step)))
          offset = event.sequence
          if event.stage.isLast { return }
        }
        watcher.see(offset)
        // There may be more of them, or the end of it.
        if !news.events.isEmpty, news.isDone || news.events.count == Self.atOnce { continue }
        // Who has seen the end already is told nothing more.
        guard !news.isDone, try await wait(watcher, until: end) else { return }
      }
    }
  }

  /// How long who watches goes without a look of its own: the hub looks for all of them every second.
  private static let longestPause = Duration.seconds(60)
  /// How many events are asked for at once.
  private static let atOnce = 100

  /// Returns when the work has ended, or time is up.
  func waitForEnd(of kept: KeptSubmission, atMost longest: Duration) async throws {
    guard kept.doneAt == nil, longest > .zero else { return }
    let end = ContinuousClock.now.advanced(by: longest)
    var offset: Int64 = 0
    try await hub.following(kept.id, of: kept.user) { watcher in
      while true {
        let news = try await news(of: kept, after: offset)
        offset = news.events.last?.sequence ?? offset
        watcher.see(offset)
        if news.isDone { return }
        guard try await wait(watcher, until: end) else { return }
      }
    }
  }

  /// What is new of a submission; it may be gone with its account.
  private func news(of kept: KeptSubmission, after offset: Int64) async throws -> SubmissionStore.News {
    guard let news = try await submissions.news(of: kept.id, kept.user, after: offset, limit: Self.atOnce) else {
      throw OnboardingRefusal.noSubmission
    }
    return news
  }

  /// Waits for a change.
  ///
  /// - Returns: Whether there was time to.
  private func wait(_ watcher: ProgressHub.Watcher, until end: ContinuousClock.Instant) async throws -> Bool {
    let left = ContinuousClock.now.duration(to: end)
    guard left > .zero else { return false }
    try await watcher.wait(atMost: min(left, Self.longestPause))
    return true
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
