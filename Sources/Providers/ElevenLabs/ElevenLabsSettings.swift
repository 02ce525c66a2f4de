/// Which ElevenLabs is asked, and how much it is sent.
public struct ElevenLabsSettings: Sendable {
  /// Where the API is, without its version: `https://api.elevenlabs.io`, or one of the hosts for residency.
  public let base: String
  /// The key, sent as `xi-api-key` and shown nowhere.
  let key: String
  /// How long making a voice may take.
  public var addTimeout = Duration.seconds(120)
  /// How long any other question may take, its repetitions included.
  public var timeout = Duration.seconds(15)
  /// The most bytes that all samples of a voice may have. More are not sent.
  public var maximumUploadSize = 10 << 20
  /// The most samples of a voice. More are not sent.
  public var maximumSamples = 25

  /// Settings for one account.
  ///
  /// - Parameters:
  ///   - base: Where the API is, without its version: `https://api.elevenlabs.io`.
  ///   - key: The account's key.
  public init(base: String, key: String) {
    self.base = base.hasSuffix("/") ? String(base.dropLast()) : base
    self.key = key
  }
}
