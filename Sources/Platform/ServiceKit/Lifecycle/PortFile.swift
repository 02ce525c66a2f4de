internal import EventLoop
internal import Glibc

/// A file that tells scripts where a service listens, for ports that the system chose.
///
/// `{"grpc":"127.0.0.1:1234","tls":"127.0.0.1:1235","admin":"127.0.0.1:1236"}`, each only if there is one.
struct PortFile {
  let path: String

  /// Writes the file whole or not at all: whoever waits for it never reads half of it.
  func write(_ addresses: BoundAddresses) throws(EventLoopError) {
    let temporary = "\(path).\(getpid())"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw failure("open") }
    let bytes = addresses.json
    let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
    guard written == bytes.count, rename(temporary, path) == 0 else {
      let error = failure("write")
      unlink(temporary)
      throw error
    }
  }

  /// Removes the file when the service stops.
  func remove() { unlink(path) }

  private func failure(_ what: String) -> EventLoopError {
    EventLoopError(.systemCall, "\(what) \(path): \(String(cString: strerror(errno)))", errno: errno)
  }
}
