import ArgumentParser
import EventLoop
import Glibc

/// The requests that come over standard input, each as soon as its JSON document is whole, so that people and programs can
/// answer to responses.
// SAFETY: used on its loop only; cancellation, which may come from any thread, hops there first.
final class RequestReader: DescriptorHandler, @unchecked Sendable {
  private let loop: EventLoop
  private let descriptor: Int32
  private var documents = JSONDocuments()
  private var isAtEnd = false
  private var watch: DescriptorWatch?
  private var waiter: CheckedContinuation<Void, Never>?

  /// Reads a descriptor, which stays the caller's to close, on this loop.
  init(_ descriptor: Int32, on loop: EventLoop) {
    self.descriptor = descriptor
    self.loop = loop
  }

  /// The next request; nil once there is no more.
  func next() async throws -> [UInt8]? {
    try await loop.visit { try await self.read() }
  }

  private func read() async throws -> [UInt8]? {
    while true {
      if let document = try documents.next() { return document }
      if isAtEnd { return try documents.rest() }
      try await waitUntilReadable()
      try Task.checkCancellation()
      var chunk = [UInt8](repeating: 0, count: 64 << 10)
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      guard count >= 0 || errno == EINTR || errno == EAGAIN else {
        throw ValidationError("Cannot read the requests: \(String(cString: strerror(errno))).")
      }
      if count > 0 { documents.append(chunk[..<count]) } else if count == 0 { isAtEnd = true }
    }
  }

  private func waitUntilReadable() async throws {
    // Files and devices that never block cannot be watched; they are read at once.
    guard let watch = try? loop.watch(descriptor, for: .readable, self) else { return }
    self.watch = watch
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if Task.isCancelled { continuation.resume() } else { waiter = continuation }
      }
    } onCancel: {
      loop.execute { self.wake() }
    }
    // One that was hung up stays ready for ever, so it is watched only while somebody waits.
    watch.cancel()
    self.watch = nil
  }

  /// Something has come, or the end.
  func descriptorIsReady(_ readiness: Readiness) { wake() }

  private func wake() {
    waiter?.resume()
    waiter = nil
  }
}
