internal import Telemetry

/// What onboarding looks after now and then; each part whatever becomes of the others.
enum TendingPart: String, CaseIterable, Sendable {
  /// Uploads that broke off, or are complete for long.
  case uploads
  /// What people without an account have answered.
  case anonymous
  /// Recordings that no answer refers to: their rows.
  case recordings
  /// The same in the object store.
  case objects
  /// Voices that the provider still has to delete.
  case voices
  /// Voices that may come to be though nobody wants them.
  case expected
  /// Voices that are being made.
  case making
  /// What was on its way when an account was deleted.
  case departures
  /// What waits for a provider that was not set up.
  case waiting
  /// Submissions on which work goes on, and those among them that have no job.
  case submissions
  /// Submissions that newer ones have superseded.
  case supersededSubmissions = "superseded_submissions"
  /// Events of submissions on which work ended long ago.
  case submissionEvents = "submission_events"
}

/// What is counted of that. All of it is there from the start, so that the first time counts too.
struct TendingMetrics: Sendable {
  private let failures: [TendingPart: PrometheusCounter]

  init(_ registry: PrometheusRegistry) {
    failures = Dictionary(
      uniqueKeysWithValues: TendingPart.allCases.map { part in
        (
          part,
          registry.counter(
            "parley_onboarding_tending_failures_total",
            help: "Times that a part of what has run out, or is owed, could not be looked after.",
            labels: [("part", part.rawValue)])
        )
      })
  }

  func failed(_ part: TendingPart) { failures[part]?.increment() }
}
