/// Which recordings a voice is made of.
public enum SampleChoice {
  /// A recording that might be taken.
  public struct Candidate: Sendable, Hashable {
    /// The SHA-256 of its bytes.
    public var digest: [UInt8]
    /// How many bytes it has.
    public var size: Int64
    /// How long it is.
    public var duration: Duration

    /// A candidate.
    public init(digest: [UInt8], size: Int64, duration: Duration) {
      self.digest = digest
      self.size = size
      self.duration = duration
    }
  }

  /// The least that has to be heard of a voice.
  public static let enough: Duration = .seconds(30)
  /// The most bytes of all samples together.
  public static let mostBytes: Int64 = 10_000_000
  /// The fewest bytes of one sample.
  public static let fewestBytes: Int64 = 1_024
  /// The most samples, which the provider takes.
  public static let mostSamples = 25

  /// The longest recordings, until there is enough of them; empty when there never is.
  public static func samples(of candidates: [Candidate]) -> [Candidate] {
    var (chosen, bytes, length): ([Candidate], Int64, Duration) = ([], 0, .zero)
    let longestFirst = candidates.filter { $0.size >= fewestBytes }
      .sorted { ($1.duration, $0.digest.description) < ($0.duration, $1.digest.description) }
    for candidate in longestFirst where chosen.count < mostSamples && length < enough {
      guard bytes + candidate.size <= mostBytes, !chosen.contains(where: { $0.digest == candidate.digest }) else { continue }
      chosen.append(candidate)
      bytes += candidate.size
      length += candidate.duration
    }
    return length >= enough ? chosen : []
  }
}
