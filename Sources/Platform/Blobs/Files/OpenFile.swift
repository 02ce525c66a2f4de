internal import Glibc

/// An open file or folder, closed with its last user. Its calls block, `init` and `deinit` included.
final class OpenFile: Sendable {
  /// What it is opened for.
  enum Use {
    /// Reading what is there.
    case reading
    /// Writing a file that was not there before.
    case creating
    /// Making a folder's names durable.
    case folder

    fileprivate var flags: Int32 {
      switch self {
      case .reading: O_RDONLY
      case .creating: O_WRONLY | O_CREAT | O_EXCL
      case .folder: O_RDONLY | O_DIRECTORY
      }
    }
  }

  private let descriptor: Int32

  /// Opens a file that is no symbolic link; one that is made is this account's alone.
  init(_ path: String, _ use: Use) throws(FileFailure) {
    descriptor = open(path, use.flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileFailure("open") }
  }

  deinit { close(descriptor) }

  func size() throws(FileFailure) -> Int64 {
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else { throw FileFailure("fstat") }
    return Int64(facts.st_size)
  }

  func write(_ bytes: [UInt8]) throws(FileFailure) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { bytes in
        Glibc.write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
      }
      if count < 0 {
        guard errno == EINTR else { throw FileFailure("write") }
        continue
      }
      written += count
    }
  }

  /// Fewer bytes than asked for only at the end.
  func read(_ count: Int, at offset: Int64) throws(FileFailure) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let result = bytes.withUnsafeMutableBytes { bytes in
        pread(descriptor, bytes.baseAddress.map { $0 + filled }, count - filled, Int(offset) + filled)
      }
      if result < 0 {
        guard errno == EINTR else { throw FileFailure("read") }
        continue
      }
      if result == 0 { break }
      filled += result
    }
    bytes.removeLast(count - filled)
    return bytes
  }

  /// Waits until all of it is on the disk.
  func synchronize() throws(FileFailure) { guard fsync(descriptor) == 0 else { throw FileFailure("fsync") } }
}
