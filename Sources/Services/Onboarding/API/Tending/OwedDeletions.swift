internal import EventLoop
internal import Logging
internal import OnboardingStore
internal import PostgreSQL
internal import ServiceKit
internal import Telemetry
internal import Values

/// Tells operators how long deletions are owed to people: of voices at the provider, and of what was on its way when an account was
/// deleted.
struct OwedDeletions: Sendable {
  private let context: ServiceContext
  private let voices: VoiceStore
  private let submissions: SubmissionStore
  private let ages: [Kind: PrometheusGauge]

  /// How often it looks.
  private static let interval = Duration.seconds(5)

  /// What is owed.
  enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A voice at the provider that nobody wants.
    case voice
    /// The last look for a voice that may have come to be.
    case lookup
    /// The last deletion of what was on its way with an account.
    case account
  }

  init(_ context: ServiceContext) {
    self.context = context
    voices = VoiceStore(context.database)
    submissions = SubmissionStore(context.database)
    let pairs = Kind.allCases.map { kind in
      (
        kind,
        context.metrics.gauge(
          "parley_onboarding_owed_deletions_seconds",
          help: """
            For how long the oldest deletion has been owed: voice (at the provider), lookup (of a voice that may have come to be), \
            account (what was on its way with it); 0 when there is none.
            """, labels: [("kind", kind.rawValue)])
      )
    }
    ages = Dictionary(uniqueKeysWithValues: pairs)
  }

  /// What runs beside the server.
  var job: BackgroundJob { BackgroundJob("onboarding deletions", run) }

  @Sendable private func run() async throws {
    while true {
      do {
        let now = context.now()
        for kind in Kind.allCases {
          let age = try await since(kind, now).map { max(.zero, now.duration(since: $0)) } ?? .zero
          ages[kind]?.set(age / .seconds(1))
        }
      } catch {
        try Task.checkCancellation()
        context.log.warning("deletions that are owed not counted", metadata: ["cause": "\(error)"])
      }
      try await context.loops.loops[0].sleep(for: Self.interval)
    }
  }

  /// Since when the oldest deletion of a kind is owed; nil when none is.
  private func since(_ kind: Kind, _ now: Instant) async throws -> Instant? {
    switch kind {
    case .voice: try await voices.oldestUnwanted()
    case .lookup: try await voices.oldestLookup(by: now)
    case .account: try await submissions.oldestDeparture(by: now)
    }
  }
}
