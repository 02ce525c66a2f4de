import Blobs
import EventLoop
import Glibc
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Values

@Suite("Blobs in files") struct FileBlobStoreTests {
  private struct Broken: Error {}

  private static let owner = UUID(high: 1, low: 2)
  private static let other = UUID(high: 1, low: 3)

  private func withStore(_ body: (FileBlobStore, ScratchFolder, BlockingPool) async throws -> Void) async throws {
    let folder = try ScratchFolder("blobs")
    let pool = BlockingPool(maximumThreads: 2)
    defer { pool.shutDown() }
    try await body(try await FileBlobStore(in: "\(folder.path)/blobs", pool: pool), folder, pool)
  }

  private func key(_ bytes: [UInt8], of owner: UUID = Self.owner) -> BlobKey { BlobKey(owner: owner, content: bytes) }

  private func write(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { close(descriptor) }
    try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
  }

  // MARK: Content

  @Test("What was stored is read back byte for byte, with its size and type", arguments: [0, 1, 65_535, 65_536, 65_537, 300_000])
  func roundTrip(size: Int) async throws {
    try await withStore { store, _, _ in
      let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let key = try await store.put(bytes, of: Self.owner, type: "audio/mp4")
      #expect(key == self.key(bytes))
      #expect(try await store.facts(key) == BlobFacts(size: Int64(size), type: "audio/mp4"))
      #expect(try await store.get(key, atMost: size) == bytes)
      #expect(try await store.verify(key)?.size == Int64(size))
    }
  }

  @Test(
    "A part is read from its first to its last byte, and none behind the end",
    arguments: [
      (0...0, 0, 1), (10...19, 10, 10), (65_530...65_545, 65_530, 16), (99_999...99_999, 99_999, 1),
      (99_990...200_000, 99_990, 10),
      (99_990...Int64.max, 99_990, 10), (100_000...100_001, 0, 0), (-5 ... -1, 0, 0), (-5...4, 0, 5), (Int64.min...0, 0, 1),
    ] as [(ClosedRange<Int64>, Int, Int)])
  func parts(range: ClosedRange<Int64>, start: Int, count: Int) async throws {
    try await withStore { store, _, _ in
      let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
      let key = try await store.put(bytes, of: Self.owner, type: "a/b")
      let part = try await store.read(key, range: range) { try await $1.whole(atMost: 1000) }
      #expect(part == Array(bytes.dropFirst(start).prefix(count)))
    }
  }

  @Test("A file is stored without being whole in memory: the store has one piece at a time")
  func fromFile() async throws {
    try await withStore { store, folder, pool in
      let bytes = (0..<200_001).map { UInt8(truncatingIfNeeded: $0 / 3) }
      try write(bytes, to: "\(folder.path)/source")
      let content = try await BlobContent(file: "\(folder.path)/source", pool: pool)
      #expect(content.size == 200_001)
      let next = try await content.open()
      while let piece = try await next() { #expect(piece.count <= BlobContent.pieceSize) }
      try await store.put(key(bytes), content, type: "a/b")
      #expect(try await store.get(key(bytes), atMost: bytes.count) == bytes)
      let error = await #expect(throws: BlobError.self) { try await BlobContent(file: "\(folder.path)/none", pool: pool) }
      #expect(error?.code == .sourceFailed)
    }
  }

  @Test("The next piece is asked for when the one before is written")
  func heldBack() async throws {
    try await withStore { store, _, _ in
      let pieces = Mutex<[String]>([])
      let content = BlobContent(size: 4) {
        let count = Atomic<UInt8>(0)
        return {
          let number = count.add(1, ordering: .relaxed).oldValue
          pieces.withLock { $0.append("piece \(number)") }
          return number < 4 ? [number] : nil
        }
      }
      try await store.put(key([0, 1, 2, 3]), content, type: "a/b")
      #expect(pieces.withLock { $0 } == (0...4).map { "piece \($0)" })
    }
  }

  @Test("Storing the same again is one blob; removing it twice is fine")
  func again() async throws {
    try await withStore { store, folder, _ in
      let bytes: [UInt8] = [1, 2, 3]
      for type in ["a/b", "c/d"] { try await store.put(bytes, of: Self.owner, type: type) }
      #expect(folder.files == ["blobs/\(key(bytes))", "blobs/\(key(bytes)).type"])
      #expect(try await store.facts(key(bytes))?.type == "c/d")
      for _ in 0..<2 { try await store.delete(key(bytes)) }
      #expect(try await store.facts(key(bytes)) == nil && folder.files.isEmpty)
      #expect(try await store.verify(key(bytes)) == nil)
      let error = await #expect(throws: BlobError.self) { try await store.read(key(bytes), range: nil) { _, _ in } }
      #expect(error?.code == .notFound)
    }
  }

  @Test("What is stored at the same time by many is one blob, whole")
  func atOnce() async throws {
    try await withStore { store, folder, _ in
      let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 5) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<20 { group.addTask { try await store.put(bytes, of: Self.owner, type: "a/b") } }
        try await group.waitForAll()
      }
      #expect(folder.files.count == 2)
      #expect(try await store.get(key(bytes), atMost: bytes.count) == bytes)
    }
  }

  // MARK: Refusals

  @Test("Content with another digest is refused as corrupt, and nothing of it stays", arguments: [[], [2]] as [[UInt8]])
  func corrupt(bytes: [UInt8]) async throws {
    try await withStore { store, folder, _ in
      let error = await #expect(throws: BlobError.self) { try await store.put(key([1]), BlobContent(bytes), type: "a/b") }
      #expect(error?.code == .corrupt && folder.files.isEmpty)
    }
  }

  @Test("Content that breaks off, or has another size than it said, is refused, and nothing of it stays", arguments: [-1, 0, 1])
  func broken(difference: Int64) async throws {
    try await withStore { store, folder, _ in
      let bytes = [UInt8](repeating: 7, count: 100_000)
      let content = BlobContent(size: Int64(bytes.count) + difference) {
        guard difference == 0 else { return try await BlobContent(bytes).open() }
        let isFirst = Atomic(true)
        return {
          guard isFirst.exchange(false, ordering: .relaxed) else { throw Broken() }
          return [7]
        }
      }
      let error = await #expect(throws: BlobError.self) { try await store.put(key(bytes), content, type: "a/b") }
      #expect(error?.code == .sourceFailed && folder.files.isEmpty)
    }
  }

  @Test("Until all of it is there, nobody sees a part of a blob")
  func unseen() async throws {
    try await withStore { store, folder, _ in
      let bytes: [UInt8] = [1, 2]
      @Sendable func look() async throws {
        #expect(try await store.facts(key(bytes)) == nil)
        #expect(try await store.keys(of: Self.owner, after: nil, atMost: 10).isEmpty)
        #expect(folder.files.count == 1 && folder.files[0].hasPrefix("blobs/incoming/"))
      }
      let content = BlobContent(size: 2) {
        let count = Atomic<UInt8>(0)
        return {
          let number = count.add(1, ordering: .relaxed).newValue
          if number == 2 { try await look() }
          return number <= 2 ? [number] : nil
        }
      }
      try await store.put(key(bytes), content, type: "a/b")
      #expect(try await store.facts(key(bytes))?.size == 2)
    }
  }

  @Test("A file that was changed on the disk is told as corrupt at the end of reading it", arguments: [999, 1000, 1001])
  func changed(size: Int) async throws {
    try await withStore { store, folder, _ in
      let key = try await store.put([UInt8](repeating: 7, count: 1000), of: Self.owner, type: "a/b")
      try write([UInt8](repeating: 8, count: size), to: "\(folder.path)/blobs/\(key)")
      for read in [{ _ = try await store.get(key, atMost: 2000) }, { _ = try await store.verify(key) }] {
        let error = await #expect(throws: BlobError.self) { try await read() }
        #expect(error?.code == .corrupt)
      }
    }
  }

  @Test("More than whoever reads can take is too large, one byte over")
  func tooLarge() async throws {
    try await withStore { store, _, _ in
      let key = try await store.put([UInt8](repeating: 7, count: 1000), of: Self.owner, type: "a/b")
      #expect(try await store.get(key, atMost: 1000).count == 1000)
      for read in [
        { _ = try await store.get(key, atMost: 999) },
        { _ = try await store.read(key, range: nil) { try await $1.whole(atMost: 999) } },
      ] {
        let error = await #expect(throws: BlobError.self) { try await read() }
        #expect(error?.code == .tooLarge)
      }
    }
  }

  @Test(
    "What is no media type is refused before anything is written",
    arguments: ["", "a", "ab", "abc", " a/b", "a/b ", "a/b\r\nx: y", "a/ü", "a/\(String(repeating: "b", count: 254))"])
  func types(type: String) async throws {
    try await withStore { store, folder, _ in
      let error = await #expect(throws: BlobError.self) { try await store.put([1], of: Self.owner, type: type) }
      #expect(error?.code == .invalid && folder.files.isEmpty)
      let longest = "a/\(String(repeating: "b", count: 253))"
      let key = try await store.put([1], of: Self.owner, type: longest)
      #expect(try await store.facts(key)?.type == longest)
    }
  }

  @Test("Files have no links")
  func links() async throws {
    try await withStore { store, _, _ in
      let error = #expect(throws: BlobError.self) { try store.link(key([1]), for: .download, lifetime: .seconds(1)) }
      #expect(error?.code == .unsupported)
    }
  }

  // MARK: A person's

  @Test("A person's blobs are named in pages, in the order of their digests, and nobody else's with them")
  func pages() async throws {
    try await withStore { store, _, _ in
      let keys = (0..<25).map { key([$0]) }
      for number in 0..<25 { try await store.put([UInt8(number)], of: Self.owner, type: "a/b") }
      try await store.put([0], of: Self.other, type: "a/b")
      var found: [[BlobKey]] = []
      while true {
        let page = try await store.keys(of: Self.owner, after: found.last?.last, atMost: 10)
        guard !page.isEmpty else { break }
        found.append(page)
      }
      #expect(found.map(\.count) == [10, 10, 5])
      #expect(found.flatMap { $0 } == keys.sorted { $0.hexadecimal < $1.hexadecimal })
    }
  }

  @Test("Everything of a person is removed, and nothing of another")
  func person() async throws {
    try await withStore { store, folder, _ in
      for number in 0..<20 {
        for owner in [Self.owner, Self.other] { try await store.put([UInt8(number)], of: owner, type: "a/b") }
      }
      #expect(try await store.deleteAll(of: Self.owner) == 20)
      #expect(try await store.keys(of: Self.owner, after: nil, atMost: 1).isEmpty)
      #expect(!folder.entries.contains { $0.name.contains("\(Self.owner)") })
      #expect(try await store.keys(of: Self.other, after: nil, atMost: 100).count == 20)
      #expect(try await store.deleteAll(of: Self.owner) == 0)
    }
  }

  @Test("A person's blobs can be stored while all of them are removed over and over: each is whole or gone")
  func storedMeanwhile() async throws {
    try await withStore { store, _, _ in
      let bytes = [UInt8](repeating: 9, count: 1000)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { for _ in 0..<100 { try await store.deleteAll(of: Self.owner) } }
        group.addTask { for _ in 0..<100 { try await store.put(bytes, of: Self.owner, type: "a/b") } }
        try await group.waitForAll()
      }
      try await store.put(bytes, of: Self.owner, type: "a/b")
      #expect(try await store.get(key(bytes), atMost: 1000) == bytes)
    }
  }

  // MARK: The folder

  @Test("Nobody but the service's own account may look into the folder")
  func permissions() async throws {
    try await withStore { store, folder, _ in
      try await store.put([1], of: Self.owner, type: "a/b")
      #expect(folder.entries.count == 6)
      for entry in folder.entries { #expect(entry.mode & 0o077 == 0, "\(entry.name)") }
    }
  }

  @Test("What a crash left behind a day ago is gone after a start, and what is being written is not")
  func leftovers() async throws {
    try await withStore { _, folder, pool in
      let incoming = "\(folder.path)/blobs/incoming"
      for name in ["old", "new"] { try write([1], to: "\(incoming)/\(name)") }
      let yesterday = timespec(tv_sec: time(nil) - 86_500, tv_nsec: 0)
      try #require(utimensat(AT_FDCWD, "\(incoming)/old", [yesterday, yesterday], 0) == 0)
      _ = try await FileBlobStore(in: "\(folder.path)/blobs", pool: pool)
      #expect(folder.files == ["blobs/incoming/new"])
    }
  }

  @Test("A folder that cannot be made is refused", arguments: ["/missing/blobs", "/file/blobs"])
  func unusable(path: String) async throws {
    try await withStore { _, folder, pool in
      try write([1], to: "\(folder.path)/file")
      let error = await #expect(throws: BlobError.self) { try await FileBlobStore(in: folder.path + path, pool: pool) }
      #expect(error?.code == .refused)
    }
  }

  @Test("A blob that is a link to another file is not followed")
  func symbolicLink() async throws {
    try await withStore { store, folder, _ in
      let key = try await store.put([1], of: Self.owner, type: "a/b")
      try write([2], to: "\(folder.path)/secret")
      try #require(unlink("\(folder.path)/blobs/\(key)") == 0)
      try #require(symlink("\(folder.path)/secret", "\(folder.path)/blobs/\(key)") == 0)
      let error = await #expect(throws: BlobError.self) { try await store.get(key, atMost: 1) }
      #expect(error?.code == .refused)
    }
  }
}
