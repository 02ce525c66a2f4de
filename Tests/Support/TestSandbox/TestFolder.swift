internal import Glibc

/// A folder of its own that is gone with its last user.
public final class TestFolder: Sendable {
  /// Where it is.
  public let root: String

  /// An empty folder.
  public init() throws {
    var template = Array("/tmp/parley-test-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw SandboxProcess.Failure(description: "cannot make a folder: \(errno)") }
    root = String(cString: made)
  }

  deinit {
    guard let folder = opendir(root) else { return }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { unlink(path(name)) }
    }
    closedir(folder)
    rmdir(root)
  }

  /// Where a file of it is.
  public func path(_ name: String) -> String { "\(root)/\(name)" }

  /// Writes a file that only its owner reads.
  public func write(_ name: String, _ bytes: [UInt8]) throws {
    let descriptor = open(path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SandboxProcess.Failure(description: "cannot write \(path(name)): \(errno)") }
    defer { close(descriptor) }
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { throw SandboxProcess.Failure(description: "cannot write \(path(name)): \(errno)") }
      written += count
    }
  }

  /// What a file holds; nothing when it is not there.
  public func bytes(_ name: String) -> [UInt8] {
    let descriptor = open(path(name), O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      guard count > 0 else { return bytes }
      bytes += chunk[..<count]
    }
  }

  /// What a file holds, as text.
  public func text(_ name: String) -> String { String(decoding: bytes(name), as: UTF8.self) }
}
