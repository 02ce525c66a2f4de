import Glibc

/// A file that appears whole and with its final permissions, or not at all.
enum PrivateFile {
  /// Why a file was not written.
  struct WriteError: Error, CustomStringConvertible {
    let description: String
  }

  /// Writes `bytes` beside `path` and moves them there.
  static func write(_ bytes: [UInt8], to path: String, mode: mode_t) throws(WriteError) {
    let draft = path + ".new"
    unlink(draft)
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw failure(draft) }
    // The process's umask may have taken bits away that the mode asks for.
    let isWritten = fchmod(descriptor, mode) == 0 && Glibc.write(descriptor, bytes, bytes.count) == bytes.count
    let isClosed = close(descriptor) == 0
    guard isWritten, isClosed, rename(draft, path) == 0 else {
      let error = failure(path)
      unlink(draft)
      throw error
    }
  }

  private static func failure(_ path: String) -> WriteError {
    WriteError(description: "cannot write \(path): \(String(cString: strerror(errno)))")
  }
}
