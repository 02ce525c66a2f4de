/// The beginning of a file that comes in pieces: as much of it as tells what it is.
///
/// A tag of an MP3 file may be longer than that; what stands behind it is looked at then, however far that is.
public struct AudioBeginning: Sendable {
  /// With so many bytes a file is told apart: one frame of any kind, and the head of the next.
  public static let sufficient = 16 << 10

  private var head: [UInt8] = []
  /// What stands behind a tag.
  private var behindTag: [UInt8] = []
  /// How many bytes there were so far.
  public private(set) var count = 0

  /// Nothing yet.
  public init() {}

  /// Takes the next bytes.
  public mutating func add(_ piece: [UInt8]) {
    head += piece.prefix(max(0, Self.sufficient - head.count))
    let start = AudioSniffer(head).afterTag
    if start > 0, start < count + piece.count {
      behindTag += piece.dropFirst(max(0, start - count)).prefix(Self.sufficient - behindTag.count)
    }
    count += piece.count
  }

  /// What the file is; nil when it is no recording.
  ///
  /// - Parameter size: How many bytes the whole file has. Where a tag goes beyond what was added, and ends before that, it is taken for an
  ///   MP3 file for now: nothing else has such tags, but ADTS now and then.
  public func format(ofSize size: Int) -> AudioFormat? {
    let sniffer = AudioSniffer(head)
    if let container = sniffer.container { return container }
    let start = sniffer.afterTag
    guard start > 0 else { return sniffer.frames }
    return start >= count ? (start < size ? .mp3 : nil) : AudioSniffer(behindTag).frames
  }
}
