/// For how long a voice may come to be that the provider was asked for.
public enum VoiceWindow {
  /// How long one attempt at it may take, the looking for an earlier one included. Nothing is sent after that.
  public static let attempt: Duration = .seconds(180)
  /// Until when the provider may make one of it, from the beginning of the attempt: well behind its end, as it was sent before.
  public static let whole: Duration = .seconds(900)
  /// How often one is looked for that nobody wants.
  public static let look: Duration = .seconds(60)
}
