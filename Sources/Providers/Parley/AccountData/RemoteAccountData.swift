internal import JOSE
internal import MessagesCore
internal import ParleyAPI
public import RPC
public import ServiceKit
public import Values

/// What another service keeps of people, asked over RPC. Nothing that it answers is believed unseen.
public struct RemoteAccountData: AccountDataHolding {
  /// How long one call may take.
  public struct Patience: Sendable, Hashable {
    /// An export, from its first to its last byte.
    public var export: Duration
    /// A deletion, or a count.
    public var answer: Duration

    /// Ten minutes for an export, a minute for an answer, unless said otherwise.
    public init(export: Duration = .seconds(600), answer: Duration = .seconds(60)) {
      self.export = export
      self.answer = answer
    }
  }

  private let client: AccountDataService.Client
  private let patience: Patience

  /// The service behind `channel`.
  public init(over channel: any Channel, patience: Patience = Patience()) {
    client = AccountDataService.Client(channel)
    self.patience = patience
  }

  /// As ``ServiceKit/AccountDataHolding/export(of:_:)``.
  ///
  /// - Throws: ``RPC/RPCError``; `dataLoss` when a document is not what its hash says, or the answer is malformed.
  public func export(
    of user: UUID, _ send: @escaping @Sendable (AccountDocumentPart) async throws -> Void
  ) async throws {
    try await client.export(.init(userID: user.description), options: .timeout(patience.export)) { stream in
      var stream = stream
      var current: (name: String, contentType: String)?
      var finished: Set<String> = []
      let hash = RunningSHA256()
      while let part = try await stream.next() {
        if current == nil {
          guard AccountDataName.isDocument(part.document), finished.insert(part.document).inserted,
            part.contentType.utf8.count <= 100
          else { throw Self.malformed("a document's name") }
          current = (part.document, part.contentType)
        }
        guard let document = current, document.name == part.document else { throw Self.malformed("a document without an end") }
        let data = Array(part.data)
        hash.update(data)
        try await send(AccountDocumentPart(document.name, contentType: document.contentType, data: data))
        guard let sha256 = part.sha256 else { continue }
        guard Array(sha256) == hash.finish() else { throw Self.malformed("a document's hash") }
        current = nil
      }
      guard current == nil else { throw Self.malformed("a document without an end") }
    }
  }

  /// As ``ServiceKit/AccountDataHolding/delete(of:work:)``.
  ///
  /// - Throws: ``RPC/RPCError``.
  public func delete(of user: UUID, work: UUID) async throws -> [AccountDataCount] {
    let response = try await client.delete(
      .init(userID: user.description, workID: work.description), options: .timeout(patience.answer))
    return try Self.counts(response.kinds)
  }

  /// As ``ServiceKit/AccountDataHolding/report(of:)``.
  ///
  /// - Throws: ``RPC/RPCError``.
  public func report(of user: UUID) async throws -> [AccountDataCount] {
    try Self.counts(try await client.report(.init(userID: user.description), options: .timeout(patience.answer)).kinds)
  }

  private static func counts(_ kinds: [AccountDataKind]) throws(RPCError) -> [AccountDataCount] {
    let counts = kinds.compactMap { AccountDataCount($0) }
    guard counts.count == kinds.count, kinds.count <= 1000, Set(counts.map(\.kind)).count == counts.count else {
      throw malformed("a count")
    }
    return counts
  }

  private static func malformed(_ what: String) -> RPCError { RPCError(.dataLoss, "the service's answer is malformed: \(what)") }
}
