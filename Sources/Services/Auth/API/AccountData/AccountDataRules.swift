internal import AuthDomain

/// How exports and deletions are set up.
struct AccountDataRules: Sendable {
  /// How long ago a person may have shown a provider's token.
  var stepUp = StepUpRule()
  /// The most bytes of an export.
  var exportLimit: Int64 = 256 << 20
  /// How long an export is kept.
  var exportRetention = Duration.seconds(86_400)
  /// How long it is kept once it was downloaded to its end: a download that broke off near its end can go on.
  var downloadedRetention = Duration.seconds(3600)
  /// How long the report of a deletion can be asked for.
  var receiptRetention = Duration.seconds(90 * 86_400)
  /// After how long work that has not ended is an alarm.
  var overdueAfter = Duration.seconds(3600)
  /// Exports that a person may ask for: a few at once, then one a minute.
  var exportRequests = RateLimit(perMinute: 1, burst: 5)
  /// Questions with a receipt, per client address.
  var receiptLimit = RateLimit(perMinute: 30, burst: 30)
}
