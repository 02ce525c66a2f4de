internal import JOSE
internal import MessagesCore
public import ParleyAPI
public import RPC
public import ServiceKit
internal import Values

/// `parley.internal.v1.AccountDataService` for whoever keeps something of people: `AccountDataService.routes(AccountDataHandlers(holder))`.
public struct AccountDataHandlers: AccountDataService.Handlers {
  /// The most bytes of a response.
  static let partSize = 256 << 10

  private let holder: any AccountDataHolding

  /// Serves what `holder` keeps.
  public init(_ holder: any AccountDataHolding) { self.holder = holder }

  /// Streams what is kept of a person, with the hash of each document in its last part.
  public func export(
    _ request: ExportRequest, _ responses: ResponseWriter<ExportResponse>, _ call: CallContext
  ) async throws {
    let writer = DocumentWriter(responses)
    try await holder.export(of: try Self.identifier(request.userID, "user_id")) { try await writer.take($0) }
    try await writer.finish()
  }

  /// Deletes what is kept of a person.
  public func delete(_ request: DeleteRequest, _ call: CallContext) async throws -> DeleteResponse {
    let counts = try await holder.delete(
      of: try Self.identifier(request.userID, "user_id"), work: try Self.identifier(request.workID, "work_id"))
    return .init(kinds: counts.map(\.message))
  }

  /// Counts what is kept of a person.
  public func report(_ request: ReportRequest, _ call: CallContext) async throws -> ReportResponse {
    .init(kinds: try await holder.report(of: try Self.identifier(request.userID, "user_id")).map(\.message))
  }

  private static func identifier(_ text: String, _ field: String) throws(RPCError) -> UUID {
    guard let identifier = UUID(text) else {
      throw AccountDataRefusal.invalidArgument.rpcError(
        "invalid argument", adding: .badRequest([.init(field: field, description: "a UUID")]))
    }
    return identifier
  }
}

/// Writes the parts of one export in order, one task at a time.
private actor DocumentWriter {
  private let responses: ResponseWriter<ExportResponse>
  private let hash = RunningSHA256()
  private var current: (name: String, contentType: String, isBegun: Bool)?
  private var finished: Set<String> = []

  init(_ responses: ResponseWriter<ExportResponse>) { self.responses = responses }

  func take(_ part: AccountDocumentPart) async throws {
    if current?.name != part.document {
      try await finish()
      guard AccountDataName.isDocument(part.document), finished.insert(part.document).inserted else {
        throw AccountDataRefusal.malformedDocument.rpcError("a document has no good name, or comes twice")
      }
      current = (part.document, part.contentType, false)
    }
    var rest = part.data[...]
    while !rest.isEmpty {
      let bytes = Array(rest.prefix(AccountDataHandlers.partSize))
      rest = rest.dropFirst(bytes.count)
      hash.update(bytes)
      try await write(bytes, sha256: nil)
    }
  }

  /// Ends the document that was begun.
  func finish() async throws {
    guard current != nil else { return }
    try await write([], sha256: hash.finish())
    current = nil
  }

  private func write(_ bytes: [UInt8], sha256: [UInt8]?) async throws {
    guard let document = current else { return }
    current?.isBegun = true
    try await responses.write(
      .init(
        document: document.name, contentType: document.isBegun ? "" : document.contentType, data: Bytes(bytes),
        sha256: sha256.map { Bytes($0) }))
  }
}

extension AccountDataCount {
  var message: AccountDataKind { .init(kind: kind, deleted: deleted, held: held, whyHeld: whyHeld) }

  /// Nil for what no service may say.
  init?(_ message: AccountDataKind) {
    guard AccountDataName.isKind(message.kind), message.deleted >= 0, message.held >= 0, message.whyHeld.utf8.count <= 1000 else {
      return nil
    }
    self.init(message.kind, deleted: message.deleted, held: message.held, whyHeld: message.whyHeld)
  }
}
