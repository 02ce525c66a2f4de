/// When a recording counts as silent, and when as too short.
public struct SilenceRules: Sendable, Hashable {
  /// How loud a stretch of 20 ms must be to count as sound, in dBFS (0 is the loudest there is). A phone in a quiet room records about
  /// -65, somebody who whispers about -45.
  public var threshold = -50.0
  /// How much sound there must be for somebody to have spoken.
  public var leastSound = Duration.milliseconds(200)
  /// How long a recording must be to hold a word.
  public var leastDuration = Duration.milliseconds(400)

  /// The defaults: -50 dBFS, 200 ms, 400 ms.
  public init() {}
}

/// How loud a recording is, and what follows from it.
public struct SilenceReport: Sendable, Hashable {
  /// What follows.
  public enum Verdict: String, Sendable, Hashable {
    /// Nothing in it is loud enough to be speech. Models make up words for such recordings.
    case silent
    /// It is too short to hold a word.
    case tooShort
    /// Somebody may be speaking.
    case speechPossible
  }

  /// What follows.
  public let verdict: Verdict
  /// How long it is, decoded.
  public let duration: Duration
  /// How long it is loud enough, in all.
  public let sound: Duration
  /// The loudest 20 ms (root of the mean square, without a constant part), in dBFS; -120 for none at all.
  public let loudest: Double
  /// The loudest sample, in dBFS; -120 for none at all.
  public let peak: Double
}

/// Tells recordings in which nobody speaks from those in which somebody may, before anybody is paid to listen.
///
/// It goes by loudness alone, and errs towards speech: noise passes, what somebody said is not held back.
public struct SilenceGate: Sendable {
  private let tools: AudioTools
  private let rules: SilenceRules

  /// A gate that uses these tools.
  ///
  /// - Parameters:
  ///   - tools: The programs.
  ///   - rules: When a recording counts as silent.
  public init(_ tools: AudioTools, rules: SilenceRules = SilenceRules()) {
    self.tools = tools
    self.rules = rules
  }

  /// Decodes a recording and judges it.
  public func judge(_ file: AudioFile) async throws(AudioError) -> SilenceReport {
    try await LoudnessMeter.measure(file, with: tools, rules).report
  }

  /// Judges what may be no recording: refuses films as ``AudioProbe/check(_:)`` does, and judges the rest as ``judge(_:)``.
  ///
  /// A good recording costs one run of the decoder, plain PCM none. What that run cannot read, or takes for a film, is looked at by both
  /// again, so that whoever asks learns why.
  ///
  /// - Throws: ``AudioError``, as both do.
  public func inspect(_ file: AudioFile) async throws(AudioError) -> SilenceReport {
    if let measured = try await LoudnessMeter.plain(file, with: tools, rules) { return measured.report }
    do throws(AudioError) { return try await LoudnessMeter.decodeSoundAlone(file, with: tools, rules).report } catch {
      guard [.unreadable, .toolFailed].contains(error.code) else { throw error }
    }
    try await AudioProbe(tools).check(file)
    return try await judge(file)
  }

  /// The most recordings that are inspected together: each is a descriptor of the decoder's.
  public static let mostTogether = 16
  /// How many bytes recordings may have that are inspected together.
  public static let bytesTogether = 4 << 20

  /// Inspects several recordings with one run of the decoder, as ``inspect(_:)`` does each with one of its own.
  ///
  /// One of them that cannot be read, is a film or too much of anything spoils the run, and no other: then nothing is known of any, and each
  /// is to be inspected by itself. So is plain PCM, which needs no decoder.
  ///
  /// - Parameter recordings: As many as ``mostTogether`` and ``bytesTogether`` allow; of more nothing is known.
  /// - Returns: What is known of each, in their order; nil where that is to be found out by itself.
  public func inspect(together recordings: [AudioBytes]) async -> [SilenceReport?] {
    var reports = [SilenceReport?](repeating: nil, count: recordings.count)
    let chosen = recordings.indices.filter { recordings[$0].format != .wav && !recordings[$0].bytes.isEmpty }
    let bytes = chosen.reduce(0) { $0 + recordings[$1].bytes.count }
    guard (2...Self.mostTogether).contains(chosen.count), bytes <= Self.bytesTogether else { return reports }
    let measured = try? await LoudnessMeter.decodeSoundsAlone(chosen.map { recordings[$0] }, with: tools, rules)
    for (index, meter) in zip(chosen, measured ?? []) { reports[index] = meter?.report }
    return reports
  }
}
