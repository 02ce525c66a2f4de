internal import Glibc

/// Who may connect to a Unix socket: whoever may write to its file.
public struct UnixSocketAccess: Sendable, Hashable {
  /// The permissions of the file, as in chmod(1); nil leaves what the process's umask gives.
  public var mode: UInt32?
  /// The group that owns the file; nil for the process's own.
  public var group: UInt32?

  /// Permissions and a group.
  public init(mode: UInt32? = nil, group: UInt32? = nil) {
    self.mode = mode
    self.group = group
  }

  /// Applies to the file at `path`. Group before mode: what is not open to the group yet is open to no wrong one.
  func apply(to path: String) throws(EventLoopError) {
    if let group, chown(path, .max, group) != 0 { throw .systemCall("giving \(path) to the group \(group)") }
    if let mode, chmod(path, mode) != 0 { throw .systemCall("setting the mode of \(path)") }
  }
}

/// Which file a path led to, so that only that one is removed later.
struct FileIdentity: Equatable {
  private let device: dev_t
  private let number: ino_t

  /// The file at `path` itself, also when it is a symbolic link; nil when there is none.
  init?(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    (device, number) = (status.st_dev, status.st_ino)
  }
}
