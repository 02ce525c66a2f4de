internal import AuthDomain
internal import AuthStore
internal import EventLoop
internal import Logging
internal import OpenID
internal import PostgreSQL
internal import RPC
internal import ServiceKit
internal import Synchronization
internal import Telemetry
internal import Values

/// Asks RevenueCat about accounts, one question at a time for each, and keeps what it answers.
///
/// RevenueCat bears about one question a second for a project, whoever asks. So all questions take from one bucket, and it is in the
/// database: a bucket in each process would let as many times that through as there are copies. It costs one statement beside a
/// request to another continent, and a refusal is remembered in the process until it ends.
final class SubscriberDesk: Sendable {
  typealias Outcome = Result<EntitlementStore.AnswerOutcome, BillingRefusal>

  private let store: EntitlementStore
  private let subscribers: any SubscriberReading
  private let cache: EntitlementMemory
  private let limits: any RateLimiting
  private let budget: RateLimit
  private let loop: EventLoop
  private let log: Logger
  private let metrics: PrometheusRegistry
  private let now: @Sendable () -> Instant
  private let flights = Mutex<[Question: SingleFlight<Outcome>]>([:])

  private struct Question: Hashable {
    let user: UserID
    let customer: CustomerID
    /// Whether any answer will do that was given since what is known; if not, RevenueCat is asked.
    let mayBeKnown: Bool
  }

  init(
    _ store: EntitlementStore, _ subscribers: any SubscriberReading, _ cache: EntitlementMemory,
    _ limits: any RateLimiting, _ budget: RateLimit, on loop: EventLoop, log: Logger,
    metrics: PrometheusRegistry, now: @escaping @Sendable () -> Instant
  ) {
    self.store = store
    self.subscribers = subscribers
    self.cache = cache
    self.limits = limits
    self.budget = budget
    self.loop = loop
    self.log = log
    self.metrics = metrics
    self.now = now
  }

  /// Asks for an account by one of its customers. Who comes while that is under way shares the answer; who is called by somebody with a
  /// deadline leaves before it, and the answer is kept when it comes.
  ///
  /// - Parameters:
  ///   - user: The account.
  ///   - customer: What RevenueCat is asked for: the linked customer, else the account's own id.
  ///   - patience: How long RevenueCat may take.
  ///   - record: What the caller knew: an answer that was given since then will do. Nil when RevenueCat is to be asked anyway.
  func ask(
    about user: UserID, as customer: CustomerID, within patience: Duration, since record: EntitlementRecord? = nil
  ) async throws(BillingRefusal) -> EntitlementStore.AnswerOutcome {
    let question = Question(user: user, customer: customer, mayBeKnown: record != nil)
    let flight = flights.withLock { flights in
      if let known = flights[question] { return known }
      let made = SingleFlight<Outcome>(on: loop)
      flights[question] = made
      return made
    }
    let work: @Sendable () async -> Outcome = {
      let outcome = await self.answer(question, patience, since: record)
      // From here on the next caller asks anew.
      self.flights.withLock { $0[question] = nil }
      return outcome
    }
    guard let outcome = await Self.join(flight, on: loop, work) else {
      guard !Task.isCancelled else { throw BillingRefusal(.cancelled) }
      count("late")
      throw BillingRefusal(
        .unavailable, detail: "RevenueCat had no answer before the deadline of the call", retryAfter: .seconds(1))
    }
    return try outcome.get()
  }

  /// What came of the flight; nil for whoever gave up, or has a deadline that is near.
  private static func join(
    _ flight: SingleFlight<Outcome>, on loop: EventLoop, _ work: @escaping @Sendable () async -> Outcome
  ) async -> Outcome? {
    guard CallContext.current?.deadline != nil else { return await flight.join(work) }
    let longest = CallWait.time(atMost: .seconds(3600))
    return await withTaskGroup(of: Outcome?.self) { tasks in
      tasks.addTask { await flight.join(work) }
      tasks.addTask {
        try? await (EventLoop.current ?? loop).sleep(for: longest)
        return nil
      }
      defer { tasks.cancelAll() }
      return await tasks.next() ?? nil
    }
  }

  private func answer(_ question: Question, _ patience: Duration, since record: EntitlementRecord?) async -> Outcome {
    do throws(DatabaseError) {
      if let record, let known = try await store.record(of: question.user) {
        // Who read before an answer came and asks after it would ask again.
        guard known.pause == record.pause || !known.pause.hasFailed else {
          return .failure(BillingRefusal(.unavailable, detail: "RevenueCat had no answer a moment ago"))
        }
        if known.askedAt != record.askedAt { return .success(.applied(known)) }
      }
      // RevenueCat makes a customer of whomever it is asked about.
      guard try await store.hasAccount(question.user) else { return nobody(question) }
    } catch {
      return failed(.unavailable, question, "\(error)")
    }
    let startedAt = now()
    if let refusal = await overBudget(at: startedAt) { return .failure(refusal) }
    let found: SubscriberAnswer
    do throws(PortFailure) { found = try await subscribers.subscriber(question.customer, within: patience) } catch {
      guard error.kind != .cancelled else { return failed(.cancelled, question, error.reason) }
      // What cannot be noted only means that the next call asks again.
      try? await store.noteFailure(of: question.user, at: now())
      return failed(.unavailable, question, error.reason)
    }
    do {
      let outcome = try await store.apply(
        found.snapshot, original: found.original, managementURL: found.managementURL, to: question.user, startedAt: startedAt,
        at: now())
      cache.forget(question.user)
      switch outcome {
      case .applied: count("answered")
      case .linkedElsewhere:
        count("linked_elsewhere")
        log.warning("a RevenueCat customer belongs to another account", metadata: ["user": "\(question.user)"])
      case .noAccount: return nobody(question)
      }
      return .success(outcome)
    } catch {
      return failed(.unavailable, question, "\(error)")
    }
  }

  /// Takes a question from the bucket that all share.
  private func overBudget(at now: Instant) async -> BillingRefusal? {
    do throws(PortFailure) {
      guard case .refused(let until) = try await limits.take(.revenueCat, budget, at: now) else { return nil }
      count("over_budget")
      return BillingRefusal(
        .busy, detail: "RevenueCat is asked as often as it bears",
        retryAfter: .seconds(RetryAfter.seconds(until: until, from: now)))
    } catch {
      return BillingRefusal(error.kind == .cancelled ? .cancelled : .limiterUnavailable, detail: error.reason)
    }
  }

  private func nobody(_ question: Question) -> Outcome {
    count("nobody")
    log.info("RevenueCat's answer is about nobody", metadata: ["user": "\(question.user)"])
    return .success(.noAccount)
  }

  private func failed(_ kind: BillingRefusal.Kind, _ question: Question, _ detail: String) -> Outcome {
    count("failed")
    log.warning("RevenueCat's answer is not to be had", metadata: ["user": "\(question.user)", "cause": "\(detail)"])
    return .failure(BillingRefusal(kind, detail: detail))
  }

  private func count(_ outcome: String) {
    metrics.counter(
      "parley_billing_questions_total", help: "Times that RevenueCat was asked about a customer, by outcome.",
      labels: [("outcome", outcome)]
    ).increment()
  }
}
