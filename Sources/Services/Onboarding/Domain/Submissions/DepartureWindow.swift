/// For how long something may come of what was on its way when an account was deleted.
public enum DepartureWindow {
  /// The longest that a run goes on that has lost its job (a lease: 10 minutes), and the longest transfer to the object store that it may
  /// have begun then (14 minutes), with some more.
  public static let whole: Duration = .seconds(1_800)
}
