internal import Glibc

/// What is done with names of files. Its calls block.
enum FileTree {
  /// Makes a folder for this account alone, unless it is there.
  static func makeFolder(_ path: String) throws(FileFailure) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw FileFailure("mkdir") }
  }

  static func rename(_ path: String, to other: String) throws(FileFailure) {
    guard Glibc.rename(path, other) == 0 else { throw FileFailure("rename") }
  }

  /// Removes a file.
  ///
  /// - Returns: Whether it was there.
  @discardableResult
  static func remove(_ path: String) throws(FileFailure) -> Bool {
    if unlink(path) == 0 { return true }
    guard errno == ENOENT else { throw FileFailure("unlink") }
    return false
  }

  /// Removes a folder that is there and empty; any other stays as it is.
  static func removeFolderIfEmpty(_ path: String) throws(FileFailure) {
    guard rmdir(path) == 0 || errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST else { throw FileFailure("rmdir") }
  }

  static func isThere(_ path: String) throws(FileFailure) -> Bool {
    var facts = stat()
    guard lstat(path, &facts) != 0 else { return true }
    guard errno == ENOENT else { throw FileFailure("stat") }
    return false
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

  /// The names in a folder, in no order; none when there is no folder.
  static func names(in folder: String) throws(FileFailure) -> [String] {
    guard let directory = opendir(folder) else {
      guard errno == ENOENT else { throw FileFailure("opendir") }
      return []
    }
    defer { closedir(directory) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(directory) else {
        guard errno == 0 else { throw FileFailure("readdir") }
        return names
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
  }
}
