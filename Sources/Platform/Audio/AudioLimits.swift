/// How much a recording may be.
public struct AudioLimits: Sendable, Hashable {
  /// The most bytes of a file, unless something else is said: 10 MiB.
  public static let maximumFileSize = 10 << 20

  /// The most bytes of a file.
  public var fileSize = AudioLimits.maximumFileSize
  /// The longest recording. A file of a few bytes can claim to be days of silence.
  public var duration = Duration.seconds(1800)

  /// The defaults: 10 MiB and half an hour.
  public init() {}
}
