/// Large requests that wait for their own kind only: a submission needs no provider, and never waits for one.
enum LargeRequestRoom {
  /// Recordings that are written down while their sender waits.
  static let transcriptions = "transcriptions"
  /// The same of people without an account.
  static let strangers = "strangers"
}
