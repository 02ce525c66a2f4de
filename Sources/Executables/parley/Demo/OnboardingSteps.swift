import ClientCore
import EventLoop
import JSON
import MessagesCore
import ParleyAPI
import RPC
import WellKnown

/// People who answer, are understood, and lose nothing while a provider is away.
enum OnboardingSteps {
  static let all = [
    DemoStep("onboarding without a subscription") { try await unpaid($0) },
    DemoStep("onboarding through an outage") { try await push($0) },
  ]

  private static func client(_ stage: DemoStage) -> OnboardingService.Client { .init(stage.onboarding) }

  private static func unpaid(_ stage: DemoStage) async throws -> String {
    let tokens = try await SessionSteps.signIn(stage, "nora")
    let error = try await refusal {
      _ = try await client(stage).complete(.init(state: .init()), options: stage.options(tokens.accessToken))
    }
    guard let error, error.reason == "SUBSCRIPTION_REQUIRED" else {
      throw StepFailure(expected: "SUBSCRIPTION_REQUIRED", came: error.map { "\($0)" } ?? "an answer")
    }
    return "\(error.code.name) SUBSCRIPTION_REQUIRED"
  }

  /// Fifteen recordings, of which four meet a provider that is away; the same push again costs nothing.
  private static func push(_ stage: DemoStage) async throws -> String {
    let tokens = try await SessionSteps.signIn(stage, "olga")
    let profile = try await SessionSteps.auth(stage).getProfile(options: stage.options(tokens.accessToken)).profile
    try await stage.sandbox.subscribe(profile?.userID ?? "")
    let steps = try await client(stage).listSteps(options: stage.options(tokens.accessToken)).steps
    let record = try SampleAnswers(folder: nil).record(steps)
    var request = try CompleteRequest(
      json: JSONValue.object(["state": record.json]).encoded(), options: JSONDecodingOptions(ignoresUnknownFields: true))
    request.voiceConsent = .init(isGiven: true, statement: "demo")
    request.wait = .init()
    let options = CallOptions(
      metadata: stage.options(tokens.accessToken).metadata, deadline: .after(.seconds(50)))
    try await stage.sandbox.fail("/openai/v1/audio/transcriptions", status: 503, times: 4)
    let began = try await client(stage).complete(request, options: options)
    let told = try await follow(stage, options)
    guard told.last == .done else { throw StepFailure(expected: "an end", came: told.last.map { "\($0)" } ?? "nothing") }
    let end = try await client(stage).complete(request, options: options)
    guard end.jobID == began.jobID, end.filesProcessed == 15, end.identityExtraction?.voiceTranscribed == 15,
      end.identityExtraction?.fieldsExtracted == 60, end.processingWarnings == nil
    else {
      throw StepFailure(expected: "15 recordings written down and 60 fields", came: "\(end)")
    }
    return "\(end.totalSteps) answers, 15 recordings, 60 fields, \(end.voiceClone?.success == true ? "a voice" : "no voice"); "
      + "the provider was away for 4 calls; the same push again is answered from the first"
  }

  /// Shows the bar at every change of stage.
  private static func follow(_ stage: DemoStage, _ options: CallOptions) async throws -> [SubmissionStage] {
    try await client(stage).watchSubmission(options: options) { responses in
      var stages: [SubmissionStage] = []
      for try await submission in responses.compactMap(\.submission) where stages.last != submission.stage {
        stages.append(submission.stage)
        Console.write(line: "       " + PushBar.line(.analyzing(submission), Int(submission.percent)))
      }
      return stages
    }
  }
}
