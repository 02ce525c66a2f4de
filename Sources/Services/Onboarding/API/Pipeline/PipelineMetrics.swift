internal import Telemetry

/// What is counted of the work. What dashboards and alerts name is there from the start, so that the first time counts too.
struct PipelineMetrics: Sendable {
  private let registry: PrometheusRegistry

  init(_ registry: PrometheusRegistry) {
    self.registry = registry
    for part in ["store", "transcribe", "extract", "clone", "delete voice", "find voice", "delete rest"] {
      _ = failures(part, "server_failed")
    }
    for outcome in RoundOutcome.allCases { _ = rounds(outcome) }
    _ = transcriptions("done")
    _ = extractions("ok")
    _ = voices
    _ = givenUp
  }

  /// How a round of work on a submission ended.
  enum RoundOutcome: String, CaseIterable {
    case done
    case partly
    case waiting
    case leftToOperators = "left_to_operators"
    case superseded
  }

  func failed(_ part: String, _ reason: String) { failures(part, reason).increment() }

  func written(_ outcome: String) { transcriptions(outcome).increment() }

  func extracted(_ outcome: String) { extractions(outcome).increment() }

  func cloned() { voices.increment() }

  func ended(_ outcome: RoundOutcome) { rounds(outcome).increment() }

  func gaveUp() { givenUp.increment() }

  // MARK: Counters

  private func failures(_ part: String, _ reason: String) -> PrometheusCounter {
    registry.counter(
      "parley_onboarding_failures_total", help: "Parts of the work on a submission that did not go well, by part and reason.",
      labels: [("part", part), ("reason", reason)])
  }

  private func transcriptions(_ outcome: String) -> PrometheusCounter {
    registry.counter(
      "parley_onboarding_transcriptions_total", help: "Recordings that were written down, or were not, by outcome.",
      labels: [("outcome", outcome)])
  }

  private func extractions(_ outcome: String) -> PrometheusCounter {
    registry.counter(
      "parley_onboarding_extractions_total", help: "Times that a person's answers were to be understood, by outcome.",
      labels: [("outcome", outcome)])
  }

  private func rounds(_ outcome: RoundOutcome) -> PrometheusCounter {
    registry.counter(
      "parley_onboarding_rounds_total",
      help: """
        Rounds of work on a submission: done, partly (a round follows), waiting (for a provider to be set up), left_to_operators (no \
        round follows), superseded (there are newer answers).
        """, labels: [("outcome", outcome.rawValue)])
  }

  private var givenUp: PrometheusCounter {
    registry.counter("parley_onboarding_given_up_total", help: "Submissions that were given up: a defect, mostly.")
  }

  private var voices: PrometheusCounter {
    registry.counter("parley_onboarding_voices_total", help: "Voices that were made.")
  }
}
