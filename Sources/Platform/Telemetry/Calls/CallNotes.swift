public import Logging
public import RPC
internal import Synchronization

/// What a call's handlers have to say in its line of the access log, so that a call is one line: why it was refused, who the client is
/// behind its proxies.
///
/// Handlers leave it among the values of the call, under ``Key``. Of what is there when the call ends, everything is written, without
/// secrets.
public struct CallNotes: Sendable {
  /// Where it is left.
  public enum Key: CallValueKey {
    /// The notes of a call.
    public typealias Value = CallNotes
  }

  /// Fields by their names, in the order in which they are written.
  public private(set) var fields: [(name: StaticString, value: String)] = []
  /// Whether an operator must look at it: the line is an error's then.
  public var needsAttention = false

  /// No notes.
  public init() {}

  /// Adds a field; nil adds none.
  ///
  /// - Parameters:
  ///   - name: A name of the program's own, letters and underscores; none that the line has by itself.
  ///   - value: What it says.
  public mutating func add(_ name: StaticString, _ value: String?) {
    if let value { fields.append((name, value)) }
  }

  /// As fields of a logger's line.
  public var metadata: Logger.Metadata {
    Dictionary(fields.map { ("\($0.name)", .string($0.value)) }) { first, _ in first }
  }

  /// The most bytes that the fields take in a line, once their values are without secrets.
  static func longest(_ fields: [(name: StaticString, value: String)]) -> Int {
    fields.reduce(0) { $0 + $1.name.utf8CodeUnitCount + LineWriter.longest($1.value.utf8.count) + 8 }
  }
}

/// The notes of a plain HTTP request: its handler's for as long as it works on it.
public final class RequestNotes: Sendable {
  /// Those of the request that the current task serves.
  @TaskLocal public static var current: RequestNotes?

  private let notes = Mutex(CallNotes())

  /// No notes yet.
  public init() {}

  /// What there is.
  public var all: CallNotes {
    get { notes.withLock { $0 } }
    set { notes.withLock { $0 = newValue } }
  }
}
