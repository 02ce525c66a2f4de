/// Random numbers that are the same on every machine for the same seed (SplitMix64): a failure that names its seed can be had again.
public struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Begins anew. Seeds that lie next to each other share no numbers that a test would live to see.
  public init(_ seed: UInt64) { state = seed }

  /// Any 64 bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
    return word ^ (word >> 31)
  }

  /// A number from 0 on and below `bound`, which is at least 1.
  public mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
