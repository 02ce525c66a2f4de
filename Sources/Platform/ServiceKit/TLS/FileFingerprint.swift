internal import Glibc

/// What tells one content of a file from the next without reading it.
///
/// Links are followed on every look, so a link that is made to lead elsewhere (as Kubernetes renews a mounted secret: `tls.crt` leads
/// through `..data`, which is renamed in one step) counts as a change, whatever file system it happens on.
struct FileFingerprint: Equatable, Sendable {
  private let device: UInt64
  private let number: UInt64
  private let size: Int
  private let modified: [UInt8]

  /// Looks at a file; nil when it is not there or must not be looked at.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt64(status.st_dev)
    number = UInt64(status.st_ino)
    size = Int(status.st_size)
    // Whole: whether the members of timespec are Glibc's hangs on which of two modules that have it is loaded first.
    modified = [status.st_mtim, status.st_ctim].withUnsafeBytes { Array($0) }
  }
}
