public import Glibc

/// A folder of this account's alone that is gone, with all that is in it, when its last user is.
public final class ScratchFolder: Sendable {
  /// The folder, from the root.
  public let path: String

  /// Makes an empty folder.
  ///
  /// - Parameter name: What its name begins with, for whoever finds it.
  public init(_ name: String = "parley-test") throws {
    var template = Array("\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/\(name)-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw ProgramFailure(description: "mkdtemp: \(String(cString: strerror(errno)))") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    // What is in a folder before the folder; a link is removed, not followed.
    for entry in entries.reversed() { remove("\(path)/\(entry.name)") }
  }

  /// The names of all files beneath the folder, each with the folders that it is in, in their order.
  public var files: [String] { entries.filter { !$0.isFolder }.map(\.name).sorted() }

  /// The folder itself (an empty name) and everything beneath it, with its permissions; a folder comes before what is in it.
  public var entries: [(name: String, isFolder: Bool, mode: mode_t)] {
    var found: [(String, Bool, mode_t)] = []
    var left = [""]
    while let name = left.popLast() {
      var facts = stat()
      guard lstat("\(path)/\(name)", &facts) == 0 else { continue }
      let isFolder = facts.st_mode & S_IFMT == S_IFDIR
      found.append((name, isFolder, facts.st_mode & 0o777))
      if isFolder { left += Self.names("\(path)/\(name)").map { name.isEmpty ? $0 : "\(name)/\($0)" } }
    }
    return found
  }

  private static func names(_ folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
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
