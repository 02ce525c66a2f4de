/// For how long a voice may come to be that the provider was asked for.
public enum VoiceWindow {
  /// How long one attempt at it may take, the looking for an earlier one included. Nothing is sent after that.
  public static let attempt: Duration = .seconds(180)
  /// How long after a call was cut the provider may still make a voice of it.
  public static let late: Duration = .seconds(900)
  /// Until when the provider may make one of it, from the beginning of the attempt, which may be cut as late as at its end.
  public static let whole: Duration = attempt + late
  /// How often one is looked for that nobody wants.
  public static let look: Duration = .seconds(60)
}
