public import EventLoop
public import PostgreSQL
public import Values

/// Blobs as files of this machine: what a service starts with before it has a bucket, for one copy of it, or several on one file system.
///
/// A blob is `{owner}/{digest}` beneath the folder, its media type beside it as `{digest}.type`. It gets its name by a rename, once its
/// content was compared with that and is on the disk: a crash leaves no half of one, only a file in `incoming`, which a start a day
/// later removes. No call of the file system is made on an event loop.
public struct FileBlobStore: BlobStore {
  private let root: String
  private let pool: BlockingPool
  private let identifier: @Sendable () -> UUID
  /// A person's folder may be removed between two calls, when all of a person is: so often it is made anew.
  private static let attempts = 1_000
  /// Seconds after which nobody writes a file of `incoming` any more.
  private static let abandoned = 86_400

  /// The blobs beneath a folder, which is made for this account alone where it is missing; its parent has to be there.
  ///
  /// - Parameters:
  ///   - folder: The folder.
  ///   - pool: Where calls that block are made.
  ///   - identifier: Names what is being written.
  /// - Throws: ``BlobError`` with `refused` when the folder cannot be used.
  public init(
    in folder: String, pool: BlockingPool, identifier: @escaping @Sendable () -> UUID = { UUID.v7() }
  ) async throws(BlobError) {
    root = folder
    self.pool = pool
    self.identifier = identifier
    do throws(BlobError) {
      try await Self.run(pool, "open") {
        try FileTree.makeFolder(folder)
        try FileTree.makeFolder("\(folder)/incoming")
        // Another copy may be writing.
        for name in try FileTree.names(in: "\(folder)/incoming")
        where try FileTree.age("\(folder)/incoming/\(name)") > Self.abandoned {
          try FileTree.remove("\(folder)/incoming/\(name)")
        }
      }
    } catch {
      throw error.code == .notFound ? BlobError(.refused, error.message) : error
    }
  }

  // MARK: BlobStore

  /// As ``BlobStore/put(_:_:type:)``.
  public func put(_ key: BlobKey, _ content: BlobContent, type: String) async throws(BlobError) {
    try MediaType.check(type)
    let incoming = "\(root)/incoming/\(identifier())"
    do throws(BlobError) {
      let file = try await run("put") { try OpenFile(incoming, .creating) }
      try await fill(file, with: content, for: key)
      try await run("put") { [self] in
        try file.synchronize()
        try give(key, type, to: incoming)
      }
    } catch {
      _ = try? await pool.run {
        try FileTree.remove(incoming)
        try FileTree.remove("\(incoming).type")
      }
      throw error
    }
  }

  /// As ``BlobStore/read(_:range:_:)``. The content of a whole blob is compared with its name as it passes.
  public func read<Value>(
    _ key: BlobKey, range: ClosedRange<Int64>?, _ body: (BlobFacts, BlobReader) async throws -> Value
  ) async throws -> Value {
    let (file, facts) = try await run("get") { [self] in
      let file = try OpenFile(path(key), .reading)
      return (file, BlobFacts(size: try file.size(), type: mediaType(key)))
    }
    let pieces = FilePieces(of: file, facts.part(range))
    let check = range == nil ? PassingDigest() : nil
    return try await body(
      facts,
      BlobReader { () async throws(BlobError) in
        guard let wanted = pieces.next() else {
          guard check == nil || check?.finish() == key.digest else {
            throw BlobError(.corrupt, "get: the file has another digest than its name says")
          }
          return nil
        }
        let piece = try await run("get") { try pieces.read(wanted) }
        check?.update(piece)
        return piece
      })
  }

  /// As ``BlobStore/facts(_:)``.
  public func facts(_ key: BlobKey) async throws(BlobError) -> BlobFacts? {
    try await run("head") { [self] in
      do { return BlobFacts(size: try OpenFile(path(key), .reading).size(), type: mediaType(key)) } catch let error as FileFailure
      {
        guard error.isAbsence else { throw error }
        return nil
      }
    }
  }

  /// As ``BlobStore/delete(_:)``.
  public func delete(_ key: BlobKey) async throws(BlobError) {
    try await run("delete") { [self] in
      guard try FileTree.remove(path(key)) else { return }
      try FileTree.remove("\(path(key)).type")
      try OpenFile(folder(key.owner), .folder).synchronize()
    }
  }

  /// As ``BlobStore/keys(of:after:atMost:)``.
  public func keys(of owner: UUID, after last: BlobKey?, atMost count: Int) async throws(BlobError) -> [BlobKey] {
    try await run("list") { [self] in
      let names = try FileTree.names(in: folder(owner)).compactMap { BlobKey("\(owner)/\($0)") }
      let wanted = names.map { (key: $0, name: $0.hexadecimal) }.sorted { $0.name < $1.name }
      return wanted.drop { entry in last.map { entry.name <= $0.hexadecimal } ?? false }.prefix(max(1, count)).map(\.key)
    }
  }

  /// As ``BlobStore/deleteAll(of:)``: also the notes of types, and the folder.
  @discardableResult
  public func deleteAll(of owner: UUID) async throws(BlobError) -> Int {
    try await run("delete all") { [self] in
      var count = 0
      for name in try FileTree.names(in: folder(owner)) {
        let isRemoved = try FileTree.remove("\(folder(owner))/\(name)")
        if isRemoved, BlobKey("\(owner)/\(name)") != nil { count += 1 }
      }
      try FileTree.removeFolderIfEmpty(folder(owner))
      try OpenFile(root, .folder).synchronize()
      return count
    }
  }

  /// None: a file has no address that others could ask.
  public func link(_ key: BlobKey, for use: BlobLinkUse, lifetime: Duration) throws(BlobError) -> String {
    throw BlobError(.unsupported, "link: files have none, only a bucket does")
  }

  // MARK: Writing

  private func fill(_ file: OpenFile, with content: BlobContent, for key: BlobKey) async throws(BlobError) {
    let digest = PassingDigest()
    var size: Int64 = 0
    let next: BlobContent.Pieces
    do { next = try await content.open() } catch { throw Self.sourceError(error) }
    while true {
      let piece: [UInt8]?
      do { piece = try await next() } catch { throw Self.sourceError(error) }
      guard let piece else { break }
      size += Int64(piece.count)
      guard size <= content.size else { throw BlobError(.sourceFailed, "put: more than \(content.size) bytes") }
      digest.update(piece)
      try await run("put") { try file.write(piece) }
    }
    guard size == content.size else { throw BlobError(.sourceFailed, "put: \(size) of \(content.size) bytes") }
    guard digest.finish() == key.digest else { throw BlobError(.corrupt, "put: the content has another digest") }
  }

  private static func sourceError(_ error: any Error) -> BlobError {
    error is CancellationError
      ? BlobError(.cancelled, "put: cancelled") : BlobError(.sourceFailed, "put: the content broke off: \(type(of: error))")
  }

  /// Gives what was written its name, the note of its type first: nobody sees a blob without one.
  private func give(_ key: BlobKey, _ type: String, to incoming: String) throws(FileFailure) {
    for attempt in 1... {
      do throws(FileFailure) {
        try FileTree.makeFolder(folder(key.owner))
        try OpenFile(root, .folder).synchronize()
        try FileTree.remove("\(incoming).type")
        let note = try OpenFile("\(incoming).type", .creating)
        try note.write(Array(type.utf8))
        try note.synchronize()
        try FileTree.rename("\(incoming).type", to: "\(path(key)).type")
        try FileTree.rename(incoming, to: path(key))
        break
      } catch {
        guard error.isAbsence, attempt < Self.attempts, try FileTree.isThere(incoming) else { throw error }
      }
    }
    do throws(FileFailure) { try OpenFile(folder(key.owner), .folder).synchronize() } catch {
      // It was there, and has been removed with all of the person's.
      guard error.isAbsence else { throw error }
    }
  }

  // MARK: Files

  private func folder(_ owner: UUID) -> String { "\(root)/\(owner)" }

  private func path(_ key: BlobKey) -> String { "\(folder(key.owner))/\(key.hexadecimal)" }

  /// One without a note is of no known type: its note was removed beside a deletion.
  private func mediaType(_ key: BlobKey) -> String {
    let note = try? OpenFile("\(path(key)).type", .reading).read(MediaType.limit, at: 0)
    return note.map { String(decoding: $0, as: UTF8.self) } ?? MediaType.unknown
  }

  private func run<Value: Sendable>(_ what: String, _ body: @escaping @Sendable () throws -> Value) async throws(BlobError)
    -> Value
  {
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
