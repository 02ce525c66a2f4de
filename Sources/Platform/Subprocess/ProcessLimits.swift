/// What a program may use before it is ended.
public struct ProcessLimits: Sendable, Hashable {
  /// How long it may run by the clock.
  public var time = Duration.seconds(20)
  /// How many seconds of CPU time it may use.
  public var cpuSeconds: UInt32 = 10
  /// How many bytes of address space it may have, the code of its libraries included.
  public var memoryBytes: UInt64 = 512 << 20
  /// How many bytes a file that it writes may have. Pipes are no files.
  public var fileBytes: UInt64 = 0
  /// How many descriptors it may have.
  public var descriptors: UInt32 = 32

  /// The defaults: 20 s, of them 10 s of CPU time, 512 MiB, no files.
  public init() {}
}
