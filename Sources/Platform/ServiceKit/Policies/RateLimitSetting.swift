/// What an operator sets in the place of a limit that a method's options give: `account=120/60`.
public struct RateLimitSetting: ConfigurationValue, Hashable {
  /// The limit's name.
  public let name: String
  /// Tokens that come back in a minute.
  public let perMinute: Int
  /// The most tokens of a bucket.
  public let burst: Int

  /// What a text must be to be read.
  public static var expectation: String { "a limit as name=perMinute/burst, both 1 to 1000000 and the burst back within a day" }

  /// A limit of this name.
  public init(name: String, perMinute: Int, burst: Int) {
    self.name = name
    self.perMinute = perMinute
    self.burst = burst
  }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText text: String) {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else { return nil }
    let numbers = parts[1].split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
    guard numbers.count == 2, let perMinute = numbers[0], let burst = numbers[1] else { return nil }
    guard (1...1_000_000).contains(perMinute), (1...1_000_000).contains(burst), burst <= perMinute * 1_440 else { return nil }
    self.init(name: String(parts[0]), perMinute: perMinute, burst: burst)
  }

  /// The value as it would be written.
  public var configurationText: String { "\(name)=\(perMinute)/\(burst)" }
}
