internal import Glibc
public import MessagesCore
internal import MessagesWire
internal import Synchronization

/// Standard input and output as the judge uses them: messages, each after its length in four bytes, big-endian.
///
/// Reading blocks the calling thread; there is one reader. Any thread may write.
public final class JudgePipe: Sendable {
  /// The largest message read, in bytes.
  private static let maximumBytes = 64 << 20
  private let writing = Mutex(())

  /// The process's own pipes.
  public init() {}

  /// The next message, or nil at the end of the input.
  ///
  /// - Throws: ``PipeError`` when the input ends within a message or claims one of more than 64 MiB; `DecodeError`.
  public func read<M: Message>(_ type: M.Type) throws -> M? {
    guard let prefix = try bytes(4, mayEnd: true) else { return nil }
    let count = prefix.reduce(0) { $0 << 8 | Int($1) }
    guard count <= Self.maximumBytes else { throw PipeError("a message of \(count) bytes is more than is read") }
    return try M(protobuf: try bytes(count, mayEnd: false) ?? [])
  }

  /// Writes one message whole.
  ///
  /// - Throws: ``PipeError`` when nobody reads; `EncodeError`.
  public func write(_ message: some Message) throws {
    let body = try message.protobufBytes()
    let count = UInt32(body.count)
    let bytes = [UInt8(count >> 24), UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255)] + body
    try writing.withLock { _ in
      var rest = bytes[...]
      while !rest.isEmpty {
        let written = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
        if written > 0 {
          rest = rest.dropFirst(written)
        } else if errno != EINTR {
          throw PipeError("standard output is closed")
        }
      }
    }
  }

  /// Exactly `count` bytes; nil when the input has ended before the first of them and may do so.
  private func bytes(_ count: Int, mayEnd: Bool) throws -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let got = bytes.withUnsafeMutableBytes { Glibc.read(STDIN_FILENO, $0.baseAddress! + filled, count - filled) }
      if got > 0 {
        filled += got
      } else if got == 0 {
        if filled == 0, mayEnd { return nil }
        throw PipeError("the input ends within a message")
      } else if errno != EINTR {
        throw PipeError("standard input cannot be read")
      }
    }
    return bytes
  }
}

/// Why the judge cannot be heard.
public struct PipeError: Error, CustomStringConvertible {
  /// For people.
  public let description: String

  init(_ description: String) { self.description = description }
}
