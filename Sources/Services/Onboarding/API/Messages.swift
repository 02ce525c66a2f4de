internal import JOSE
internal import MessagesCore
internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import Values
internal import WellKnown

extension GoogleProtobuf.Timestamp {
  init(_ timestamp: Instant) {
    self.init(seconds: timestamp.seconds, nanos: Int32(timestamp.microsecondOfSecond) * 1_000)
  }
}

extension GoogleProtobuf.Duration {
  init(_ duration: Swift.Duration) {
    let (seconds, attoseconds) = duration.components
    self.init(seconds: seconds, nanos: Int32(attoseconds / 1_000_000_000))
  }

  var duration: Swift.Duration { .seconds(seconds) + .nanoseconds(nanos) }
}

extension ParleyAPI.SubmissionStage {
  init(_ stage: OnboardingDomain.SubmissionStage) {
    self =
      switch stage {
      case .received: .received
      case .storing: .storingAudio
      case .transcribing: .transcribing
      case .extracting: .extracting
      case .cloning: .cloning
      case .done: .done
      case .failed: .failed
      }
  }
}

extension Submission {
  /// How far a submission had come at an event.
  init(_ kept: KeptSubmission, at event: SubmissionEvent?, _ warnings: [OnboardingDomain.SubmissionWarning]) {
    let stage = event?.stage ?? kept.stage
    self.init(
      id: kept.id.description, stage: .init(stage), percent: Int32(stage.percent(after: event?.last)),
      done: Int32(event?.done ?? 0),
      total: Int32(event?.total ?? 0),
      position: ProgressPosition(epoch: kept.id.description, offset: event?.sequence ?? 0).description,
      warnings: warnings.map { .init(step: Int32($0.step), reason: $0.reason, message: $0.message) },
      createdAt: .init(kept.createdAt), updatedAt: .init(event?.at ?? kept.updatedAt))
  }
}

extension ParleyAPI.TranscriptionState {
  init(_ state: OnboardingDomain.TranscriptionState) {
    self =
      switch state {
      case .pending: .pending
      case .done: .done
      case .noSpeech: .noSpeech
      case .tooShort: .tooShort
      case .failed: .failed
      }
  }
}

extension KeptRecording {
  /// What it is called outside: the SHA-256 of its bytes in hexadecimal.
  var name: String { Hexadecimal.text(digest) }
}

extension VoiceClip {
  /// A recording as its person, or without words an operator, sees it.
  init(_ recording: KeptRecording, url: String = "", withWords: Bool) {
    self.init(
      id: recording.name, stepID: Int32(recording.step ?? 0), audioURL: url,
      transcription: withWords ? recording.transcript : nil, duration: recording.duration.map { .init($0) },
      createdAt: .init(recording.createdAt), transcriptionState: .init(recording.state), size: recording.size)
  }
}

extension Voice {
  init(_ kept: VoiceStore.KeptVoice?) {
    guard let kept else {
      self.init(state: .none)
      return
    }
    let state: VoiceState =
      switch kept.state {
      case .none: .none
      case .cloning: .cloning
      case .ready: .ready
      case .failed: .failed
      case .deleting: .deleting
      }
    self.init(
      state: state, voiceID: kept.voice ?? "", failure: kept.failure, consentedAt: kept.consentedAt.map { .init($0) },
      statement: kept.statement, withdrawnAt: kept.withdrawnAt.map { .init($0) }, nextCloneAt: kept.nextCloneAt)
  }
}

extension VoiceStore.KeptVoice {
  /// From when on the voice may be made anew; nil where it may be at any time: where none was ever made, or the last attempt failed.
  fileprivate var nextCloneAt: GoogleProtobuf.Timestamp? {
    guard madeAt != nil, state != .failed, let last = reclonedAt else { return nil }
    return CloneAllowance.opening(after: last.description).flatMap(InternetTime.parse)
      .map { .init(seconds: $0.seconds, nanos: $0.nanos) }
  }
}

extension IdentityField {
  init(_ kept: IdentityStore.KeptFact) {
    let source: IdentitySource =
      switch kept.fact.source {
      case .answer: .answer
      case .transcript: .transcript
      case .model: .model
      case .correction: .correction
      }
    self.init(
      name: kept.fact.name, value: kept.fact.value, source: source, step: Int32(kept.fact.step), quote: kept.fact.quote,
      model: kept.fact.model, updatedAt: .init(kept.updatedAt))
  }
}

extension OnboardingAnswer {
  /// A kept answer as an app reads it back.
  init(_ kept: KeptAnswer) {
    let text = kept.recording.map(AnswerContent.reference) ?? kept.text
    self.init(
      type: kept.type, value: text.map { .init(kind: .stringValue($0)) }, timestamp: kept.answeredAt?.description ?? "",
      voiceUri: kept.voiceURI.isEmpty ? nil : kept.voiceURI, duration: kept.duration, audioFileSize: kept.size,
      audioFormat: kept.format.isEmpty ? nil : kept.format, dbField: kept.fields)
  }
}
