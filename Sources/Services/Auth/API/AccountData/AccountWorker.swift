internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import Logging
internal import ParleyProvider
internal import PostgreSQL
internal import RPC
internal import ServiceKit
internal import Telemetry
internal import Values

/// Does exports and deletions: asks every service for its part until each has done it.
///
/// What is done is noted step by step, so that whoever goes on after a crash does nothing twice; and what fails does not hold up the
/// others.
struct AccountWorker: Sendable {
  /// What came of a run.
  enum Outcome: Sendable, Hashable {
    /// There is nothing left to do.
    case done
    /// Something failed, or has to wait for what failed: another run is needed.
    case again(String)
  }

  let store: AccountWorkStore
  let own: OwnAccountData
  /// The other services.
  let services: [String: any AccountDataHolding]
  let revokers: [any ProviderGrantRevoking]
  let plan: AccountWorkPlan
  let rules: AccountDataRules
  let journal: AccountWorkJournal
  let now: @Sendable () -> Instant

  /// Does what can be done now.
  ///
  /// - Throws: When the work itself cannot be read or noted; then nothing is known of what came of it.
  func run(_ id: AccountWorkID, of user: UserID) async throws -> Outcome {
    // What is gone was replaced by another export, or swept: nobody waits for it.
    guard let found = try await store.work(id, of: user), found.doneAt == nil else { return .done }
    try await store.add(plan.steps(of: found.kind), to: id, of: user)
    var failures: [String] = []
    // Each step once: a deletion's own part becomes due when the others are done, and what is left then is for another run.
    var tried: Set<StepName> = []
    while let work = try await store.work(id, of: user), work.doneAt == nil {
      let due = plan.due(work).filter { !tried.contains($0) }
      guard !due.isEmpty else { return try await end(work, failures) }
      for step in due {
        tried.insert(step)
        do { try await perform(step, of: work) } catch is CancellationError {
          throw CancellationError()
        } catch is ExportWriter.TooLarge {
          try await store.giveUp(id, of: user, "too_large", at: now())
          journal.ended(work, "too_large", at: now())
          return .done
        } catch {
          failures.append("\(step): \(AccountWorkJournal.word(for: error))")
        }
      }
    }
    return .done
  }

  /// All steps were tried.
  private func end(_ work: AccountWork, _ failures: [String]) async throws -> Outcome {
    guard failures.isEmpty else { return .again(failures.joined(separator: ", ")) }
    guard work.kind == .export, work.steps.allSatisfy({ $0.doneAt != nil }) else { return .again("steps are left") }
    let now = now()
    if try await store.publish(work.id, of: work.user, until: now.advanced(by: rules.exportRetention), at: now) {
      journal.ended(work, "done", at: now)
    }
    return .done
  }

  // MARK: Steps

  private func perform(_ step: StepName, of work: AccountWork) async throws {
    if work.kind == .deletion, step == .own { return try await erase(work) }
    guard let attempt = try await store.begin(step, of: work.id, of: work.user) else { return }
    do {
      let counts = work.kind == .export ? try await export(attempt) : try await delete(attempt)
      try await store.finish(attempt, counts, at: now())
      journal.step(attempt, work.kind, "done")
    } catch let error as ExportWriter.TooLarge {
      throw error
    } catch {
      // Whoever is stopped has not failed: the next run goes on.
      try Task.checkCancellation()
      let word = AccountWorkJournal.word(for: error)
      try await store.fail(attempt, word)
      journal.failed(attempt, work.kind, word, error)
      throw error
    }
  }

  private func export(_ attempt: AccountWorkStore.Attempt) async throws -> [AccountWork.Count] {
    let room = rules.exportLimit - (try await store.byteCount(of: attempt.work, of: attempt.user))
    let writer = ExportWriter(store, attempt, room: room)
    try await holder(attempt.step).export(of: UUID(attempt.user)) { try await writer.take($0) }
    try await writer.finish()
    return await writer.counts
  }

  /// A service's word that everything is gone is checked by what it counts afterwards.
  private func delete(_ attempt: AccountWorkStore.Attempt) async throws -> [AccountWork.Count] {
    if let revoker = revokers.first(where: { StepName.provider($0.provider) == attempt.step }) {
      let count = try await revoker.revokeGrants(of: attempt.user)
      return count > 0 ? [AccountWork.Count("grants", deleted: Int64(count))] : []
    }
    let holder = try holder(attempt.step)
    let deleted = try await holder.delete(of: UUID(attempt.user), work: UUID(attempt.work)).map { AccountWork.Count($0) }
    let held = try await holder.report(of: UUID(attempt.user)).map { AccountWork.Count($0) }
    if let kind = AccountWorkPlan.remainder(of: held) { throw StillHeld(kind: kind) }
    return AccountWorkPlan.merged(deleted: deleted, held: held)
  }

  private func erase(_ work: AccountWork) async throws {
    switch try await own.erase(work.user, work.id) {
    // Another run has not done its part yet, or somebody took the work away.
    case .refused: throw AccountDataRefusal.deletionNotDue.rpcError("the account's own part is not due")
    case .done(_, let endedNow): if endedNow { journal.ended(work, "done", at: now()) }
    }
  }

  private func holder(_ step: StepName) throws -> any AccountDataHolding {
    if step == .own { return own }
    guard let service = services.first(where: { StepName.service($0.key) == step })?.value else { throw NotConfigured() }
    return service
  }
}

/// A service says that it has deleted everything, and still counts something.
struct StillHeld: Error { let kind: String }

/// A service or provider that took part when the work began, and that the settings do not name any more.
struct NotConfigured: Error {}
