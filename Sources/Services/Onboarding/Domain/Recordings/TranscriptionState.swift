/// How far a recording has come. A failure is a state, never text.
public enum TranscriptionState: String, Sendable, Hashable, CaseIterable {
  /// It waits.
  case pending
  /// There are words.
  case done
  /// Nobody speaks in it.
  case noSpeech = "no_speech"
  /// It is too short for anybody to say anything.
  case tooShort = "too_short"
  /// It could not be written down.
  case failed
}
