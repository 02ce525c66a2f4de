/// A place in the course of a submission's events: `epoch:offset`. The epoch is the submission, the offset counts its events from 1.
public struct ProgressPosition: Sendable, Hashable, CustomStringConvertible {
  /// The submission, as a UUID's text.
  public let epoch: String
  /// How many events come before what is still to be told.
  public let offset: Int64

  /// A place.
  public init(epoch: String, offset: Int64) {
    self.epoch = epoch
    self.offset = offset
  }

  /// Reads what ``description`` wrote; nil for anything else.
  public init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, (1...36).contains(parts[0].utf8.count), let offset = Int64(parts[1]), offset >= 0 else { return nil }
    self.init(epoch: String(parts[0]), offset: offset)
  }

  /// `epoch:offset`.
  public var description: String { "\(epoch):\(offset)" }
}
