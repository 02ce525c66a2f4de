internal import Glibc

/// A system call on a file that failed.
struct FileFailure: Error {
  let call: String
  let number: Int32

  init(_ call: String) {
    self.call = call
    number = errno
  }

  func blobError(_ what: String) -> BlobError {
    let text = "\(what): \(call): \(String(cString: strerror(number)))"
    switch number {
    case ENOENT: return BlobError(.notFound, text)
    case EACCES, EPERM, EROFS, ENOTDIR: return BlobError(.refused, text)
    default: return BlobError(.unavailable, text)
    }
  }
}

/// An open file, closed with its last user. Its calls block.
final class OpenFile: Sendable {
  private let descriptor: Int32

  init(_ path: String, _ flags: Int32) throws(FileFailure) {
    descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileFailure("open") }
  }

  deinit { close(descriptor) }

  func write(_ bytes: [UInt8]) throws(FileFailure) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + written, bytes.count - written) }
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
      let result = bytes.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress! + filled, count - filled, Int(offset) + filled)
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

  func synchronize() throws(FileFailure) { guard fsync(descriptor) == 0 else { throw FileFailure("fsync") } }
}

/// What is done with names. Its calls block.
enum Path {
  static func makeFolder(_ path: String) throws(FileFailure) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw FileFailure("mkdir") }
  }

  static func rename(_ path: String, to other: String) throws(FileFailure) {
    guard Glibc.rename(path, other) == 0 else { throw FileFailure("rename") }
  }

  static func remove(_ path: String) throws(FileFailure) {
    guard unlink(path) == 0 || errno == ENOENT else { throw FileFailure("unlink") }
  }

  static func size(_ path: String) throws(FileFailure) -> Int64? {
    var facts = stat()
    guard lstat(path, &facts) == 0 else {
      guard errno == ENOENT else { throw FileFailure("stat") }
      return nil
    }
    return Int64(facts.st_size)
  }

  /// Seconds since it was changed; 0 for one that is gone.
  static func age(_ path: String) throws(FileFailure) -> Int {
    var (facts, now) = (stat(), timespec())
    guard lstat(path, &facts) == 0 else {
      guard errno == ENOENT else { throw FileFailure("stat") }
      return 0
    }
    clock_gettime(CLOCK_REALTIME, &now)
    return now.tv_sec - facts.st_mtim.tv_sec
  }

  static func names(in folder: String) throws(FileFailure) -> [String] {
    guard let directory = opendir(folder) else { throw FileFailure("opendir") }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }
}
