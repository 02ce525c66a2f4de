/// Why recordings can be written down by nobody: it is in the file itself, and the same file will fail again.
///
/// Everything else passes: a provider that is down, a tool that is missing or was too slow, bytes that an object store has lost and a
/// backup brings back.
public enum RecordingDamage {
  /// The words for it, as ``ProviderFailure/reason`` and what is kept have them.
  public static let words: Set<String> = [
    "audio_unknown_format", "audio_unreadable", "audio_has_video", "audio_too_large", "audio_too_long", "audio_empty",
    "audio_too_expensive",
  ]
}
