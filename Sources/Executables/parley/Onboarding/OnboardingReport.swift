import JSON
import MessagesCore
import ParleyAPI
import WellKnown

/// Onboarding, for people and for programs.
enum OnboardingReport {
  /// A message as programs get it.
  static func json(_ message: some Message) -> JSONValue {
    guard let bytes = try? message.jsonBytes(options: .init(writesDefaults: true, usesProtoNames: true)),
      let json = try? JSONParser.parse(bytes, options: .init(maximumByteCount: 256 << 20))
    else { return .null }
    return json
  }

  /// What became of a push.
  static func table(_ response: CompleteResponse) -> [(String, String)] {
    var rows = [
      ("answers", "\(response.totalSteps)"), ("recordings", "\(response.filesProcessed)"), ("submission", response.jobID),
    ]
    if let stage = response.submission?.stage { rows.append(("stage", name(stage))) }
    if let identity = response.identityExtraction {
      rows.append(("fields", identity.success ? "\(identity.fieldsExtracted)" : identity.error ?? "none"))
      rows.append(("transcribed", "\(identity.voiceTranscribed)"))
    }
    if let voice = response.voiceClone { rows.append(("voice", voice.success ? voice.voiceID ?? "made" : voice.error ?? "none")) }
    if let warnings = response.processingWarnings, !warnings.isEmpty { rows.append(("warnings", warnings)) }
    return rows.map { ($0.0, Printable.text($0.1)) }
  }

  static func table(_ submission: Submission) -> [(String, String)] {
    var rows = [("submission", submission.id), ("stage", name(submission.stage)), ("percent", "\(submission.percent)")]
    if submission.total > 0 { rows.append(("parts", "\(submission.done) of \(submission.total)")) }
    if let at = submission.updatedAt { rows.append(("since", SessionReport.text(at))) }
    for warning in submission.warnings {
      let place = warning.step > 0 ? "step \(warning.step): " : ""
      rows.append(("warning", place + (warning.message.isEmpty ? warning.reason : warning.message)))
    }
    return rows.map { ($0.0, Printable.text($0.1)) }
  }

  /// `storing_audio`
  static func name(_ stage: SubmissionStage) -> String { lowered(stage, "SUBMISSION_STAGE_") }

  /// The name of an enum's value without its prefix, in lower case.
  static func lowered<Value: ProtoEnum>(_ value: Value, _ prefix: String) -> String {
    let name = Value.descriptor.name(of: value.rawValue) ?? "\(value.rawValue)"
    return name.hasPrefix(prefix) ? name.dropFirst(prefix.count).lowercased() : name
  }

  static let stepHeading = ["STEP", "PHASE", "TYPE", "MINIMUM", "FIELDS", "TOPIC"]

  static func row(_ step: OnboardingStep) -> [String] {
    [
      "\(step.number)", step.phase, step.type, step.minimumDuration.map { "\($0.seconds) s" } ?? "",
      step.dbFields.joined(separator: ","), step.topic,
    ].map(Printable.text)
  }

  static let fieldHeading = ["FIELD", "VALUE", "SOURCE", "STEP"]

  static func row(_ field: IdentityField) -> [String] {
    [
      field.name, field.value.count > 60 ? field.value.prefix(59) + "…" : field.value,
      lowered(field.source, "IDENTITY_SOURCE_"), field.step > 0 ? "\(field.step)" : "",
    ].map(Printable.text)
  }

  static let unfinishedHeading = ["USER", "PART", "REASON", "COUNT", "SINCE"]

  static func rows(_ person: UnfinishedOnboarding) -> [[String]] {
    person.parts.map { part in
      [person.userID, part.part, part.reason, "\(part.count)", part.since.map(SessionReport.text) ?? ""].map(Printable.text)
    }
  }

  static let clipHeading = ["STEP", "STATE", "BYTES", "SECONDS", "AT"]

  static func row(_ clip: VoiceClip) -> [String] {
    [
      "\(clip.stepID)", lowered(clip.transcriptionState, "TRANSCRIPTION_STATE_"), "\(clip.size)",
      clip.duration.map { "\($0.seconds)" } ?? "", clip.createdAt.map(SessionReport.text) ?? "",
    ]
  }
}
