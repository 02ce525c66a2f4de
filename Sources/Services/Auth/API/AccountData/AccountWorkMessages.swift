internal import AuthDomain
internal import AuthStore
internal import MessagesCore
internal import ParleyAPI
internal import WellKnown

extension AuthDomain.AccountWork {
  var message: ParleyAPI.AccountWork {
    ParleyAPI.AccountWork(
      id: id.description, kind: kind == .export ? .export : .deletion,
      state: doneAt == nil ? .running : failure.isEmpty ? .done : .failed, createdAt: .init(createdAt),
      doneAt: doneAt.map { .init($0) }, expiresAt: expiresAt.map { .init($0) }, totalBytes: byteCount, failure: failure,
      steps: steps.map(\.message))
  }
}

extension AuthDomain.AccountWork.Step {
  var message: AccountWorkStep {
    AccountWorkStep(
      name: name.rawValue, isDone: doneAt != nil, doneAt: doneAt.map { .init($0) }, attempts: Int32(clamping: attempts),
      failure: failure,
      counts: counts.map { AccountWorkCount(kind: $0.kind, deleted: $0.deleted, held: $0.held, whyHeld: $0.whyHeld) })
  }
}

extension AccountWorkStore.StoredPiece {
  /// The piece as it is downloaded, without what stands before `offset`.
  func message(from offset: Int64) -> DownloadExportResponse {
    let skipped = min(max(0, offset - start), Int64(piece.data.count))
    let service = step.rawValue.split(separator: ".", maxSplits: 1).last.map(String.init) ?? step.rawValue
    return DownloadExportResponse(
      offset: start + skipped, service: service, document: piece.document, contentType: piece.contentType,
      documentOffset: piece.offset + skipped, data: Bytes(Array(piece.data.dropFirst(Int(skipped)))),
      sha256: piece.sha256.map { Bytes($0) })
  }
}
