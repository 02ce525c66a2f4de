/// A SHA-256, or whatever else of 32 bytes stands for a secret that is not kept.
public struct Digest: Sendable, Hashable {
  // Four words instead of an array: a state of several digests is compared without a single allocation.
  private let first: UInt64
  private let second: UInt64
  private let third: UInt64
  private let fourth: UInt64

  /// A digest from its bytes; nil unless there are 32.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    func word(_ index: Int) -> UInt64 { bytes[8 * index..<8 * index + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(word(0), word(1), word(2), word(3))
  }

  /// A digest from its words, the first bytes first, each in network order.
  public init(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64) {
    self.first = first
    self.second = second
    self.third = third
    self.fourth = fourth
  }

  /// The 32 bytes.
  public var bytes: [UInt8] {
    [first, second, third, fourth].flatMap { word in
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
    }
  }

  /// Whether both stand for the same secret.
  public static func == (left: Digest, right: Digest) -> Bool {
    left.first == right.first && left.second == right.second && left.third == right.third && left.fourth == right.fourth
  }
}
