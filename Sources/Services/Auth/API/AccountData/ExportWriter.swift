internal import AuthDomain
internal import AuthStore
internal import JOSE
internal import ServiceKit

/// Keeps what one service hands out for an export, in pieces of one size, each document with its hash.
actor ExportWriter {
  /// An export that has more bytes than anybody may have.
  struct TooLarge: Error {}
  /// A service that hands out documents with bad names, or one twice.
  struct Malformed: Error {}

  /// Bytes of a piece.
  static let pieceSize = 256 << 10

  private let store: AccountWorkStore
  private let attempt: AccountWorkStore.Attempt
  private let hash = RunningSHA256()
  private var room: Int64
  private var document: (name: String, contentType: String)?
  private var finished: Set<String> = []
  private var waiting: [UInt8] = []
  private var offset: Int64 = 0
  private var sequence: Int32 = 0
  private(set) var counts: [AccountWork.Count] = []

  /// A writer for an attempt that may write `room` bytes.
  init(_ store: AccountWorkStore, _ attempt: AccountWorkStore.Attempt, room: Int64) {
    self.store = store
    self.attempt = attempt
    self.room = room
  }

  func take(_ part: AccountDocumentPart) async throws {
    if document?.name != part.document {
      try await finish()
      guard AccountDataName.isDocument(part.document), finished.insert(part.document).inserted else { throw Malformed() }
      document = (part.document, part.contentType)
    }
    room -= Int64(part.data.count)
    guard room >= 0 else { throw TooLarge() }
    hash.update(part.data)
    waiting += part.data
    while waiting.count > Self.pieceSize { try await write(Self.pieceSize, sha256: nil) }
  }

  /// Ends the document that was begun. Its last piece says its hash; a document without bytes has one without bytes.
  func finish() async throws {
    guard let document else { return }
    let size = offset + Int64(waiting.count)
    try await write(waiting.count, sha256: hash.finish())
    counts.append(AccountWork.Count(document.name, held: size))
    (self.document, offset) = (nil, 0)
  }

  private func write(_ count: Int, sha256: [UInt8]?) async throws {
    guard let document else { return }
    let data = Array(waiting.prefix(count))
    waiting.removeFirst(count)
    let piece = AccountWorkStore.Piece(
      document: document.name, contentType: document.contentType, offset: offset, data: data, sha256: sha256)
    offset += Int64(count)
    sequence += 1
    try await store.keep(piece, sequence, of: attempt)
  }
}
