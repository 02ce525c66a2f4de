internal import Synchronization

/// A body of plain HTTP that is written while it is sent; see ``HTTPServerResponse/streamed(_:headers:byteCount:_:)``.
public struct HTTPBodyStream: Sendable {
  /// Writes the body; its return is the body's end.
  public typealias Write = @Sendable (HTTPBodyWriter) async throws -> Void

  /// The length of the body, or nil where nobody knows it yet.
  public let byteCount: Int?
  let write: Write

  /// The bytes of the body, written into memory: for tests of whoever makes one.
  package func collected() async throws -> [UInt8] {
    let sink = CollectingSink()
    try await write(HTTPBodyWriter(sink))
    return sink.bytes
  }
}

/// Where a streamed body is written.
///
/// May be used from any task; one at a time writes.
public struct HTTPBodyWriter: Sendable {
  private let sink: any HTTPBodySink

  init(_ sink: any HTTPBodySink) { self.sink = sink }

  /// Sends bytes; suspends while the reader takes them more slowly than they are written.
  ///
  /// - Throws: `CancellationError` when nobody reads the body any more; ``HTTPBodyError`` beyond the length that was announced.
  public func write(_ bytes: [UInt8]) async throws { try await sink.write(bytes) }
}

/// A streamed body that is not as long as it was announced.
public struct HTTPBodyError: Error, CustomStringConvertible {
  /// What was announced.
  public let announced: Int
  /// What was written, as far as it was.
  public let written: Int

  /// Both lengths.
  public var description: String { "a body of \(announced) bytes was announced, and one of \(written) written" }
}

/// What takes the bytes of a streamed body.
protocol HTTPBodySink: AnyObject, Sendable {
  func write(_ bytes: [UInt8]) async throws
}

/// Keeps all that is written.
private final class CollectingSink: HTTPBodySink {
  private let kept = Mutex<[UInt8]>([])
  var bytes: [UInt8] { kept.withLock { $0 } }

  func write(_ bytes: [UInt8]) async throws { kept.withLock { $0.append(contentsOf: bytes) } }
}
