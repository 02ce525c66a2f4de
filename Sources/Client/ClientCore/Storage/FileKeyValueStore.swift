import Foundation

/// Keeps each entry in a file that only its owner can read.
///
/// The folder is made with mode 0700, files with 0600. A file is replaced as a whole (written beside, flushed, renamed, and the
/// folder flushed), so that a crash leaves the former one or the new one, and what was written or removed stays so when the power
/// fails. A file that others may read, that belongs to somebody else or that is no plain file is refused: what is in it may be
/// known, or planted. Processes that share a folder change an entry one after the other.
public final class FileKeyValueStore: KeyValueStore {
  /// The folder that the files are in.
  public let folder: String

  /// A store in `folder`, which is made when the first entry is written.
  public init(folder: String) { self.folder = folder }

  /// The entry called `name`, or nil when there is none.
  ///
  /// - Throws: ``KeyValueStoreError``.
  public func load(_ name: String) throws -> [UInt8]? {
    let path = try path(name)
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw errno == ELOOP ? KeyValueStoreError(.notPrivate, "\(path) is a symbolic link") : Self.failure("read", path)
    }
    defer { close(descriptor) }
    try Self.checkPrivacy(of: descriptor, path)
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw Self.failure("read", path) }
      if count == 0 { return bytes }
      bytes += chunk[..<count]
    }
  }

  /// Replaces an entry.
  ///
  /// - Throws: ``KeyValueStoreError``.
  public func save(_ bytes: [UInt8], as name: String) throws {
    try locked(name) { try replace(bytes, as: name) }
  }

  /// Removes an entry, if it is there.
  ///
  /// - Throws: ``KeyValueStoreError``.
  public func remove(_ name: String) throws {
    guard access(folder, F_OK) == 0 else { return }
    try locked(name) { try erase(name) }
  }

  /// Changes an entry; no other process that uses this class comes between.
  ///
  /// - Throws: ``KeyValueStoreError``, or what `change` throws.
  public func update(_ name: String, _ change: @escaping @Sendable ([UInt8]?) throws -> [UInt8]?) throws -> [UInt8]? {
    try locked(name) {
      let present = try load(name)
      let next = try change(present)
      if let next {
        if next != present { try replace(next, as: name) }
      } else {
        try erase(name)
      }
      return next
    }
  }

  // MARK: Files

  private func path(_ name: String) throws -> String {
    let isPlain = name.utf8.allSatisfy {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
      default: false
      }
    }
    guard isPlain, !name.hasPrefix("."), (1...100).contains(name.utf8.count) else {
      throw KeyValueStoreError(.invalidName, "'\(name)' cannot be the name of an entry")
    }
    return "\(folder)/\(name).json"
  }

  private func replace(_ bytes: [UInt8], as name: String) throws {
    let path = try path(name)
    let beside = Self.beside(path)
    // Under the lock nobody else writes it: what is there was left by a crash.
    try Self.unlinkIfThere(beside)
    let descriptor = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.failure("write", beside) }
    do {
      defer { close(descriptor) }
      var sent = 0
      while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { throw Self.failure("write", beside) }
        sent += count
      }
      guard Self.flush(descriptor) else { throw Self.failure("write", beside) }
    } catch {
      unlink(beside)
      throw error
    }
    guard rename(beside, path) == 0 else {
      let failure = Self.failure("write", path)
      unlink(beside)
      throw failure
    }
    try Self.flush(folder: folder)
  }

  /// Removes an entry, and what a crash left beside it: the same answers or tokens may be in both.
  private func erase(_ name: String) throws {
    let path = try path(name)
    let isRemoved = try [Self.beside(path), path].map { try Self.unlinkIfThere($0) }
    if isRemoved.contains(true) { try Self.flush(folder: folder) }
  }

  /// Where an entry is written until it takes its place.
  private static func beside(_ path: String) -> String { path + ".new" }

  /// Runs `body` while no other user of the entry does.
  private func locked<Value>(_ name: String, _ body: () throws -> Value) throws -> Value {
    let path = try path(name) + ".lock"
    try makeFolder()
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.failure("lock", path) }
    // The lock ends with the descriptor, also when the process does.
    defer { close(descriptor) }
    try Self.checkPrivacy(of: descriptor, path)
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw Self.failure("lock", path) }
    }
    return try body()
  }

  private func makeFolder() throws {
    guard access(folder, F_OK) != 0 else { return }
    // Each folder that is made is an entry of the one above it.
    var changed: [String] = []
    var place = URL(filePath: folder)
    while access(place.path, F_OK) != 0, place.path != "/" {
      place.deleteLastPathComponent()
      changed.append(place.path)
    }
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw KeyValueStoreError(.system, "cannot make \(folder)")
    }
    for folder in changed { try Self.flush(folder: folder) }
  }

  /// Sees to it that the names in a folder are on the disk as they are now.
  private static func flush(folder: String) throws {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      // A folder above may be one that is passed through and not read.
      if errno == EACCES || errno == EPERM { return }
      throw failure("write", folder)
    }
    defer { close(descriptor) }
    // Some file systems keep names without being asked, and know no such call.
    guard flush(descriptor) || errno == EINVAL else { throw failure("write", folder) }
  }

  private static func flush(_ descriptor: CInt) -> Bool {
    #if canImport(Darwin)
    // There fsync hands over to the disk, which may keep it to itself for a while.
    if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
    #endif
    return fsync(descriptor) == 0
  }

  private static func checkPrivacy(of descriptor: CInt, _ path: String) throws {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("read", path) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw KeyValueStoreError(.notPrivate, "\(path) is no plain file") }
    guard status.st_uid == geteuid() else { throw KeyValueStoreError(.notPrivate, "\(path) belongs to somebody else") }
    guard status.st_mode & 0o077 == 0 else {
      throw KeyValueStoreError(.notPrivate, "\(path) can be read or written by others: chmod 600, or remove it")
    }
  }

  /// - Returns: Whether it was there.
  @discardableResult
  private static func unlinkIfThere(_ path: String) throws -> Bool {
    if unlink(path) == 0 { return true }
    guard errno == ENOENT else { throw failure("remove", path) }
    return false
  }

  private static func failure(_ verb: String, _ path: String) -> KeyValueStoreError {
    KeyValueStoreError(.system, "cannot \(verb) \(path): \(String(cString: strerror(errno)))")
  }
}
