internal import CShims
internal import Glibc

/// What programs find on their standard input: sealed memory, in which they can seek and which nobody can change.
///
/// It is the kernel's, beside what this process has itself, and is there once however many programs read it.
public final class ProcessInput: Sendable {
  let descriptor: Int32
  /// How many bytes it has.
  public let count: Int

  fileprivate init(descriptor: Int32, count: Int) {
    self.descriptor = descriptor
    self.count = count
  }

  deinit { close(descriptor) }

  /// Reads the bytes where they are, without a copy of them in this process.
  ///
  /// - Parameter body: Gets all of them. Nobody changes them, and none is taken away while they are read: the memory is sealed.
  /// - Returns: What `body` returns; nil where there are none, or the system has no room to show them.
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    guard count > 0, let start = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else { return nil }
    defer { munmap(start, count) }
    return body(UnsafeRawBufferPointer(start: start, count: count))
  }
}

/// A ``ProcessInput`` in the making, of bytes that come piece by piece.
///
/// What keeps it from being made is told at the end: whoever reads what comes for other reasons as well goes on with that.
public struct ProcessInputWriter: ~Copyable, Sendable {
  private let descriptor: Int32
  private var failure: Int32
  /// How many bytes there were so far.
  public private(set) var count = 0

  /// Nothing yet.
  public init() {
    descriptor = parley_make_memory()
    failure = descriptor < 0 ? errno : 0
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Takes the next bytes.
  public mutating func append(_ bytes: [UInt8]) {
    count += bytes.count
    guard failure == 0 else { return }
    failure = parley_append_memory(descriptor, bytes, bytes.count)
  }

  /// What has come, sealed.
  ///
  /// - Throws: ``SubprocessError`` with ``SubprocessError/Code/startFailed`` where the system had no memory or descriptor for it.
  public consuming func sealed() throws(SubprocessError) -> ProcessInput {
    let (descriptor, count) = (descriptor, count)
    let error = failure == 0 ? parley_seal_memory(descriptor) : failure
    discard self
    guard error == 0 else {
      if descriptor >= 0 { close(descriptor) }
      throw SubprocessError(.startFailed, "its input: \(String(cString: strerror(error)))")
    }
    return ProcessInput(descriptor: descriptor, count: count)
  }
}
