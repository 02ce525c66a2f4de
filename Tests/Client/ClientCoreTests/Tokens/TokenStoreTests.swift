import ClientCore
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Stores of tokens")
struct TokenStoreTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  /// The permissions of a file.
  private func mode(_ path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  private func code(_ body: () throws -> Void) -> TokenStoreError.Code? {
    do { try body() } catch { return (error as? TokenStoreError)?.code }
    return nil
  }

  @Test("B-37: entries are written, read, changed and removed", arguments: ["memory", "file"])
  func entries(kind: String) async throws {
    let store: any TokenStore = kind == "file" ? FileTokenStore(folder: folder.path + "/a/b") : MemoryTokenStore()
    #expect(try await store.load("session") == nil)
    try await store.remove("session")
    try await store.save([1, 2], as: "session")
    try await store.save([3], as: "other")
    #expect(try await store.load("session") == [1, 2])
    #expect(try await store.update("session") { ($0 ?? []) + [9] } == [1, 2, 9])
    #expect(try await store.load("session") == [1, 2, 9])
    #expect(try await store.update("session") { _ in nil } == nil)
    #expect(try await store.load("session") == nil)
    #expect(try await store.update("session") { $0 ?? [7] } == [7])
    try await store.remove("other")
    #expect(try await store.load("other") == nil)
    try await store.save([], as: "empty")
    #expect(try await store.load("empty") == [])
  }

  @Test("B-37: folder and files are their owner's alone, whatever the umask")
  func modes() throws {
    let store = FileTokenStore(folder: folder.path + "/state")
    try store.save([1], as: "session")
    #expect(mode(folder.path + "/state") == 0o700)
    #expect(mode(folder.path + "/state/session.json") == 0o600)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path + "/state").sorted() == [
        "session.json", "session.json.lock",
      ])
  }

  @Test("B-37: a file that others can read or write is refused, unread", arguments: [0o640, 0o604, 0o620, 0o601] as [mode_t])
  func othersCanRead(_ mode: mode_t) throws {
    let store = FileTokenStore(folder: folder.path)
    try store.save([1], as: "session")
    chmod(folder.path + "/session.json", mode)
    #expect(code { _ = try store.load("session") } == .notPrivate)
    #expect(code { _ = try store.update("session") { $0 } } == .notPrivate)
    chmod(folder.path + "/session.json", 0o600)
    #expect(try store.load("session") == [1])
  }

  @Test("A link, a pipe or a folder in place of a file is refused")
  func planted() throws {
    let store = FileTokenStore(folder: folder.path)
    try store.save([1], as: "target")
    symlink(folder.path + "/target.json", folder.path + "/link.json")
    #expect(code { _ = try store.load("link") } == .notPrivate)
    mkfifo(folder.path + "/pipe.json", 0o600)
    #expect(code { _ = try store.load("pipe") } == .notPrivate)
    mkdir(folder.path + "/folder.json", 0o700)
    #expect(code { _ = try store.load("folder") } == .notPrivate)
    // To replace a link replaces the link, not what it names.
    try store.save([2], as: "link")
    #expect(try store.load("target") == [1] && store.load("link") == [2])
  }

  @Test("What a crash left beside the file does not matter")
  func leftOver() throws {
    let store = FileTokenStore(folder: folder.path)
    _ = FileManager.default.createFile(atPath: folder.path + "/session.json.new", contents: Data([9]))
    try store.save([1], as: "session")
    #expect(try store.load("session") == [1])
  }

  @Test("What a crash left beside an entry goes away with the entry, also when there was none")
  func leftOverRemoved() throws {
    let store = FileTokenStore(folder: folder.path)
    func crash() { _ = FileManager.default.createFile(atPath: folder.path + "/session.json.new", contents: Data([9])) }
    func left() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasSuffix(".lock") }
    }
    for isThere in [true, false] {
      if isThere { try store.save([1], as: "session") }
      crash()
      try store.remove("session")
      #expect(try left() == [])
      if isThere { try store.save([1], as: "session") }
      crash()
      #expect(try store.update("session") { _ in nil } == nil)
      #expect(try left() == [])
    }
  }

  @Test("An entry that cannot take its place leaves nothing beside it")
  func notRenamed() throws {
    let store = FileTokenStore(folder: folder.path)
    mkdir(folder.path + "/session.json", 0o700)
    #expect(code { try store.save([1], as: "session") } == .system)
    #expect(access(folder.path + "/session.json.new", F_OK) != 0)
  }

  @Test("Changes that two users of a folder make at once all count")
  func concurrentChanges() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        let store = FileTokenStore(folder: folder.path)
        group.addTask {
          for _ in 0..<10 { _ = try store.update("list") { ($0 ?? []) + [UInt8(number)] } }
        }
      }
      try await group.waitForAll()
    }
    #expect(try FileTokenStore(folder: folder.path).load("list")?.count == 80)
  }

  @Test("A name that is no name is refused", arguments: ["", "..", ".hidden", "a/b", "ä", String(repeating: "x", count: 101)])
  func names(_ name: String) {
    let store = FileTokenStore(folder: folder.path)
    #expect(code { try store.save([1], as: name) } == .invalidName)
    #expect(code { _ = try store.load(name) } == .invalidName)
  }
}
