public import EventLoop
internal import Glibc
internal import JOSE
public import PostgreSQL

/// Blobs as files of this machine: what a service starts with before it has a bucket, for one copy of it, or several on one file system.
///
/// A blob is `{owner}/{first two digits}/{digest}` beneath the folder, its media type beside it as `{digest}.type`. It gets its name by a
/// rename, once its content was compared with that and is on the disk: a crash leaves no half of one, only a file in `incoming`, which
/// a start a day later removes.
public struct FileBlobStore: BlobStore {
  private let root: String
  private let pool: BlockingPool
  private let identifier: @Sendable () -> UUID

  /// The blobs beneath a folder, which is made for this account alone where it is missing.
  ///
  /// - Parameters:
  ///   - folder: The folder.
  ///   - pool: Where calls that block are made.
  ///   - identifier: Names what is being written.
  /// - Throws: ``BlobError`` with `refused` when the folder cannot be used.
  public init(
    in folder: String, pool: BlockingPool, identifier: @escaping @Sendable () -> UUID
  ) async throws(BlobError) {
    root = folder
    self.pool = pool
    self.identifier = identifier
    try await Self.run(pool, "open") {
      try Path.makeFolder(folder)
      try Path.makeFolder("\(folder)/incoming")
      // Another copy may be writing: nobody does for a day.
      for name in try Path.names(in: "\(folder)/incoming") where try Path.age("\(folder)/incoming/\(name)") > 86_400 {
        try Path.remove("\(folder)/incoming/\(name)")
      }
    }
  }

  // MARK: BlobStore

  /// As ``BlobStore/put(_:_:type:)``.
  public func put(_ key: BlobKey, _ content: BlobContent, type: String) async throws(BlobError) {
    let incoming = "\(root)/incoming/\(identifier())"
    let file = try await run("put") { try OpenFile(incoming, O_WRONLY | O_CREAT | O_EXCL) }
    do throws(BlobError) {
      try await fill(file, with: content, for: key)
      try await run("put") { [self] in
        try file.synchronize()
        let (folder, path) = (folder(key), path(key))
        try Path.makeFolder("\(root)/\(key.owner)")
        try Path.makeFolder(folder)
        let note = try OpenFile("\(incoming).type", O_WRONLY | O_CREAT | O_EXCL)
        try note.write(Array(type.utf8))
        try note.synchronize()
        try Path.rename("\(incoming).type", to: "\(path).type")
        try Path.rename(incoming, to: path)
        try OpenFile(folder, O_RDONLY | O_DIRECTORY).synchronize()
        try OpenFile("\(root)/\(key.owner)", O_RDONLY | O_DIRECTORY).synchronize()
      }
    } catch {
      _ = try? await pool.run { (unlink(incoming), unlink("\(incoming).type")) }
      throw error
    }
  }

  /// As ``BlobStore/read(_:range:_:)``. The content of a whole blob is compared with its name as it passes.
  public func read<Value>(
    _ key: BlobKey, range: ClosedRange<Int64>?, _ body: (BlobFacts, BlobReader) async throws -> Value
  ) async throws -> Value {
    guard let facts = try await facts(key) else { throw BlobError(.notFound, "get: there is no such blob") }
    let file = try await run("get") { [self] in try OpenFile(path(key), O_RDONLY) }
    let start = max(0, range?.lowerBound ?? 0)
    let progress = FileProgress(at: start, until: min(facts.size, (range?.upperBound ?? .max - 1) + 1))
    let check = range == nil ? RunningDigest() : nil
    return try await body(
      facts,
      BlobReader { () async throws(BlobError) in
        let count = progress.next(atMost: BlobContent.pieceSize)
        guard count > 0 else {
          guard check == nil || check?.digest() == key.digest else {
            throw BlobError(.corrupt, "get: the file has another digest than its name says")
          }
          return nil
        }
        let offset = progress.advance(by: count)
        let piece = try await run("get") { try file.read(count, at: offset) }
        guard piece.count == count else { throw BlobError(.corrupt, "get: the file has become shorter") }
        check?.add(piece)
        return piece
      })
  }

  /// As ``BlobStore/facts(_:)``.
  public func facts(_ key: BlobKey) async throws(BlobError) -> BlobFacts? {
    try await run("head") { [self] in
      guard let size = try Path.size(path(key)) else { return nil }
      let type = try? OpenFile("\(path(key)).type", O_RDONLY).read(256, at: 0)
      return BlobFacts(size: size, type: type.map { String(decoding: $0, as: UTF8.self) } ?? "application/octet-stream")
    }
  }

  /// As ``BlobStore/delete(_:)``.
  public func delete(_ key: BlobKey) async throws(BlobError) {
    try await run("delete") { [self] in
      try Path.remove(path(key))
      try Path.remove("\(path(key)).type")
    }
  }

  /// None: a file has no address that others could ask.
  public func link(_ key: BlobKey, for use: BlobLinkUse, lifetime: Duration) throws(BlobError) -> String {
    throw BlobError(.refused, "link: files have none; set a bucket")
  }

  // MARK: Files

  private func fill(_ file: OpenFile, with content: BlobContent, for key: BlobKey) async throws(BlobError) {
    let digest = RunningDigest()
    var size: Int64 = 0
    let next: BlobContent.Pieces
    do { next = try await content.open() } catch { throw BlobError(.sourceFailed, "put: \(type(of: error))") }
    while true {
      let piece: [UInt8]?
      do { piece = try await next() } catch is CancellationError { throw BlobError(.cancelled, "put: cancelled") } catch {
        throw BlobError(.sourceFailed, "put: the content broke off: \(Swift.type(of: error))")
      }
      guard let piece else { break }
      size += Int64(piece.count)
      guard size <= content.size else { throw BlobError(.sourceFailed, "put: more than \(content.size) bytes") }
      digest.add(piece)
      try await run("put") { try file.write(piece) }
    }
    guard size == content.size else { throw BlobError(.sourceFailed, "put: \(size) of \(content.size) bytes") }
    guard digest.digest() == key.digest else { throw BlobError(.corrupt, "put: the content has another digest") }
  }

  private func folder(_ key: BlobKey) -> String { "\(root)/\(key.owner)/\(key.hexadecimal.prefix(2))" }

  private func path(_ key: BlobKey) -> String { "\(folder(key))/\(key.hexadecimal)" }

  private func run<Value: Sendable>(_ what: String, _ body: @escaping @Sendable () throws -> Value) async throws(BlobError) -> Value {
    try await Self.run(pool, what, body)
  }

  private static func run<Value: Sendable>(
    _ pool: BlockingPool, _ what: String, _ body: @escaping @Sendable () throws -> Value
  ) async throws(BlobError) -> Value {
    do { return try await pool.run(body) } catch let error as FileFailure {
      throw error.blobError(what)
    } catch {
      throw BlobError(.cancelled, "\(what): the process ends")
    }
  }
}
