/// Why a provider did not do what it was asked to.
public struct ProviderFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The ``reason`` where there is no provider to ask: what waits for one waits until there is.
  public static let notConfigured = "not_configured"

  /// Why, in a word: `rate_limited`, `quota_exceeded`.
  public let reason: String
  /// Whether the same may go well later.
  public let isTemporary: Bool
  /// How long to wait at least, where the provider said so.
  public let retryAfter: Duration?
  /// Whether the provider may have done it though its answer is lost.
  public let mayHaveTakenEffect: Bool
  /// For the log; nothing of what was said.
  public let description: String

  /// A failure.
  public init(
    _ reason: String, isTemporary: Bool, retryAfter: Duration? = nil, mayHaveTakenEffect: Bool = false, _ description: String = ""
  ) {
    self.reason = reason
    self.mayHaveTakenEffect = mayHaveTakenEffect
    self.isTemporary = isTemporary
    self.retryAfter = retryAfter
    self.description = description.isEmpty ? reason : "\(reason): \(description)"
  }
}

/// A recording as providers get it.
public struct SpokenSample: Sendable, Hashable {
  /// What it is called: `step_5.m4a`.
  public var filename: String
  /// Its media type.
  public var mediaType: String
  /// Its bytes.
  public var bytes: [UInt8]

  /// A recording.
  public init(filename: String, mediaType: String, bytes: [UInt8]) {
    self.filename = filename
    self.mediaType = mediaType
    self.bytes = bytes
  }
}

/// Writes recordings down.
public protocol Transcribing: Sendable {
  /// The model, as it is named in what is kept.
  var model: String { get }
  /// The words; empty when the provider heard none.
  ///
  /// - Parameters:
  ///   - sample: The recording.
  ///   - key: What makes it the same request when it is sent again.
  func transcribe(_ sample: SpokenSample, key: String) async throws(ProviderFailure) -> String
}

/// Concludes what answers say of a person.
public protocol IdentityExtracting: Sendable {
  /// The model, as it is named in what is kept.
  var model: String { get }
  /// The conclusions; a field that nothing was said about may be left out.
  ///
  /// - Parameters:
  ///   - task: What is asked.
  ///   - key: What makes it the same request when it is sent again.
  func extract(_ task: ExtractionTask, key: String) async throws(ProviderFailure) -> [Conclusion]
}

/// A voice that a provider has made.
public struct MadeVoice: Sendable, Hashable {
  /// Its identifier.
  public var id: String
  /// Whether it does not speak before somebody has proved to the provider that it is theirs.
  public var needsVerification: Bool

  /// A voice.
  public init(_ id: String, needsVerification: Bool) {
    self.id = id
    self.needsVerification = needsVerification
  }
}

/// Makes voices.
public protocol VoiceCloning: Sendable {
  /// Makes a voice, or finds the one that was made under this key before.
  ///
  /// - Parameters:
  ///   - name: What it is called at the provider; nobody's name.
  ///   - samples: What it is made of.
  ///   - key: What makes it the same voice when it is asked for again.
  ///   - deadline: Nothing is sent to the provider after that.
  func clone(
    _ name: String, of samples: [SpokenSample], key: String, by deadline: ContinuousClock.Instant
  ) async throws(ProviderFailure) -> MadeVoice
  /// The voices that were made under a key: none, one, or more after answers that were lost.
  func voices(under key: String) async throws(ProviderFailure) -> [String]
  /// Deletes a voice; fine when there is none.
  func delete(_ voice: String) async throws(ProviderFailure)
}

/// What can be told of a recording without understanding it.
public struct RecordingFacts: Sendable, Hashable {
  /// How long it is.
  public var duration: Duration
  /// Whether anybody might be heard in it.
  public var loudness: Loudness

  /// Whether anybody might be heard.
  public enum Loudness: Sendable, Hashable {
    /// Perhaps.
    case speechPossible
    /// No.
    case silent
    /// It is too short.
    case tooShort
  }

  /// The facts.
  public init(duration: Duration, loudness: Loudness) {
    self.duration = duration
    self.loudness = loudness
  }
}

/// Looks at recordings without a provider.
public protocol RecordingInspecting: Sendable {
  /// The facts of a recording.
  ///
  /// - Throws: ``ProviderFailure``: `audio_unreadable` when it is damaged.
  func inspect(_ sample: SpokenSample) async throws(ProviderFailure) -> RecordingFacts
  /// The facts of several recordings, which cost less together: nil for one of which only ``inspect(_:)`` tells, or tells why not.
  func inspect(together samples: [SpokenSample]) async -> [RecordingFacts?]
  /// The recording in a kind of file that whoever writes recordings down takes: mostly itself.
  ///
  /// - Throws: ``ProviderFailure``, as ``inspect(_:)`` does.
  func sendable(_ sample: SpokenSample) async throws(ProviderFailure) -> SpokenSample
}
