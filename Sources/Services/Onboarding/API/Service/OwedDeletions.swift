internal import EventLoop
internal import Logging
internal import OnboardingStore
internal import PostgreSQL
internal import ServiceKit
internal import Synchronization
internal import Telemetry

/// Tells operators how long a voice that nobody wants any more has been kept at the provider.
struct OwedDeletions: Sendable {
  private let context: ServiceContext
  private let voices: VoiceStore
  private let age = Age()

  /// How often it looks.
  private static let interval = Duration.seconds(5)

  init(_ context: ServiceContext) {
    self.context = context
    voices = VoiceStore(context.database)
    let age = age
    context.metrics.gauge(
      "parley_onboarding_unwanted_voice_seconds",
      help: "For how long the provider has kept the voice that should have been deleted there first; 0 when there is none."
    ) { age.seconds }
  }

  /// What runs beside the server.
  var job: BackgroundJob { BackgroundJob("onboarding voices", run) }

  @Sendable private func run() async throws {
    while true {
      do {
        let oldest = try await voices.oldestUnwanted()
        age.set(oldest.map { max(.zero, context.now().duration(since: $0)) } ?? .zero)
      } catch {
        try Task.checkCancellation()
        context.log.warning("voices to be deleted not counted", metadata: ["cause": "\(error)"])
      }
      try await context.loops.loops[0].sleep(for: Self.interval)
    }
  }
}

/// A time that a metric reads.
private final class Age: Sendable {
  private let duration = Mutex(Duration.zero)

  var seconds: Double { duration.withLock { $0 / .seconds(1) } }

  func set(_ value: Duration) { duration.withLock { $0 = value } }
}
