import Blobs
import EventLoop
import Foundation
import JOSE
import PostgreSQL
import Synchronization
import Testing

@Suite("Blobs in files") struct FileBlobStoreTests {
  private struct Broken: Error {}

  private static let owner = UUID(high: 1, low: 2)

  private func withStore(_ body: (FileBlobStore, _ folder: String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("blobs-\(Foundation.UUID())").path
    let pool = BlockingPool(maximumThreads: 2)
    defer {
      pool.shutDown()
      try? FileManager.default.removeItem(atPath: folder)
    }
    let count = Atomic<UInt64>(0)
    let store = try await FileBlobStore(in: folder, pool: pool) { UUID(high: 0, low: count.add(1, ordering: .relaxed).newValue) }
    try await body(store, folder)
  }

  private func key(_ bytes: [UInt8]) throws -> BlobKey {
    try #require(BlobKey(owner: Self.owner, digest: SHA256.digest(bytes)))
  }

  private func files(in folder: String) -> [String] {
    let all = FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? []
    return all.filter { name in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(folder)/\(name)", isDirectory: &isFolder) && !isFolder.boolValue
    }
  }

  @Test("What was stored is read back byte for byte, with its size and type", arguments: [0, 1, 65_535, 65_536, 65_537, 300_000])
  func roundTrip(size: Int) async throws {
    try await withStore { store, _ in
      let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let key = try key(bytes)
      try await store.put(key, BlobContent(bytes), type: "audio/mp4")
      #expect(try await store.facts(key) == BlobFacts(size: Int64(size), type: "audio/mp4"))
      let read = try await store.read(key, range: nil) { facts, reader in
        #expect(facts.size == Int64(size))
        return try await reader.whole(atMost: size)
      }
      #expect(read == bytes)
    }
  }

  @Test(
    "A part is read from its first to its last byte, and none behind the end",
    arguments: [(0...0, 1), (10...19, 10), (65_530...65_545, 16), (99_999...99_999, 1), (99_990...200_000, 10), (100_000...100_001, 0)]
      as [(ClosedRange<Int64>, Int)])
  func parts(range: ClosedRange<Int64>, count: Int) async throws {
    try await withStore { store, _ in
      let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
      let key = try key(bytes)
      try await store.put(key, BlobContent(bytes), type: "a/b")
      let part = try await store.read(key, range: range) { try await $1.whole(atMost: 1000) }
      #expect(part == Array(bytes.dropFirst(Int(range.lowerBound)).prefix(count)))
    }
  }

  @Test("Storing the same again changes nothing; removing it twice is fine")
  func again() async throws {
    try await withStore { store, folder in
      let bytes: [UInt8] = [1, 2, 3]
      let key = try key(bytes)
      for _ in 0..<2 { try await store.put(key, BlobContent(bytes), type: "a/b") }
      #expect(files(in: folder).count == 2)
      for _ in 0..<2 { try await store.delete(key) }
      #expect(try await store.facts(key) == nil && files(in: folder).isEmpty)
      let error = await #expect(throws: BlobError.self) { try await store.read(key, range: nil) { _, _ in } }
      #expect(error?.code == .notFound)
    }
  }

  @Test("Content with another digest is refused as corrupt, and nothing of it stays")
  func corrupt() async throws {
    try await withStore { store, folder in
      let error = await #expect(throws: BlobError.self) {
        try await store.put(try key([1]), BlobContent([2]), type: "a/b")
      }
      #expect(error?.code == .corrupt && files(in: folder).isEmpty)
    }
  }

  @Test("Content that breaks off, or has another size than it said, is refused, and nothing of it stays", arguments: [-1, 0, 1])
  func broken(difference: Int64) async throws {
    try await withStore { store, folder in
      let bytes = [UInt8](repeating: 7, count: 100_000)
      let content = BlobContent(size: Int64(bytes.count) + difference) {
        guard difference != 0 else {
          let isFirst = Atomic(true)
          return {
            guard isFirst.exchange(false, ordering: .relaxed) else { throw Broken() }
            return [7]
          }
        }
        return try await BlobContent(bytes).open()
      }
      let error = await #expect(throws: BlobError.self) { try await store.put(try key(bytes), content, type: "a/b") }
      #expect(error?.code == .sourceFailed && files(in: folder).isEmpty)
    }
  }

  @Test("A file that was changed on the disk is told as corrupt at the end of reading it")
  func changed() async throws {
    try await withStore { store, folder in
      let bytes = [UInt8](repeating: 7, count: 1000)
      let key = try key(bytes)
      try await store.put(key, BlobContent(bytes), type: "a/b")
      let name = try #require(files(in: folder).first { !$0.hasSuffix(".type") })
      try Data([UInt8](repeating: 8, count: 1000)).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
      let error = await #expect(throws: BlobError.self) {
        try await store.read(key, range: nil) { _ = try await $1.whole(atMost: 1000) }
      }
      #expect(error?.code == .corrupt)
    }
  }

  @Test("More than whoever reads can take is too large, one byte over")
  func tooLarge() async throws {
    try await withStore { store, _ in
      let bytes = [UInt8](repeating: 7, count: 1000)
      let key = try key(bytes)
      try await store.put(key, BlobContent(bytes), type: "a/b")
      #expect(try await store.read(key, range: nil) { try await $1.whole(atMost: 1000) }.count == 1000)
      let error = await #expect(throws: BlobError.self) {
        try await store.read(key, range: nil) { _ = try await $1.whole(atMost: 999) }
      }
      #expect(error?.code == .tooLarge)
    }
  }

  @Test("Nobody but the service's own account may look into the folder")
  func permissions() async throws {
    try await withStore { store, folder in
      let bytes: [UInt8] = [1]
      try await store.put(try key(bytes), BlobContent(bytes), type: "a/b")
      for name in [""] + (FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? []) {
        let mode = try #require(
          try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")[.posixPermissions] as? NSNumber)
        #expect(mode.intValue & 0o077 == 0, "\(name)")
      }
    }
  }
}
