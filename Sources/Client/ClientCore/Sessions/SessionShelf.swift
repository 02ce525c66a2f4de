import RPC

/// The session in a store.
struct SessionShelf: Sendable {
  let store: any TokenStore
  let name: String

  /// The session that is there; one that cannot be read as such counts as none.
  func load() async throws(RPCError) -> StoredSession? {
    do { return try await store.load(name).flatMap(StoredSession.init) } catch { throw Self.failure(error) }
  }

  /// Changes the session by what it is; nil stands for none. Returns what is there afterwards.
  @discardableResult
  func update(_ change: @escaping @Sendable (StoredSession?) -> StoredSession?) async throws(RPCError) -> StoredSession? {
    do {
      return try await store.update(name) { bytes in change(bytes.flatMap(StoredSession.init))?.bytes }.flatMap(
        StoredSession.init)
    } catch {
      throw Self.failure(error)
    }
  }

  private static func failure(_ error: any Error) -> RPCError {
    RPCError(.internal, "the session's store failed: \((error as? TokenStoreError)?.description ?? "")", cause: error)
  }
}
