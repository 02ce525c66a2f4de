import Synchronization

/// Keeps entries as long as the process lives.
public final class MemoryKeyValueStore: KeyValueStore {
  private let entries = Mutex<[String: [UInt8]]>([:])

  /// An empty store.
  public init() {}

  /// The entry called `name`, or nil when there is none.
  public func load(_ name: String) -> [UInt8]? { entries.withLock { $0[name] } }

  /// Writes an entry.
  public func save(_ bytes: [UInt8], as name: String) { entries.withLock { $0[name] = bytes } }

  /// Removes an entry, if it is there.
  public func remove(_ name: String) { entries.withLock { $0[name] = nil } }

  /// Changes an entry; no other change comes between.
  public func update(_ name: String, _ change: @escaping @Sendable ([UInt8]?) throws -> [UInt8]?) throws -> [UInt8]? {
    try entries.withLock { entries in
      entries[name] = try change(entries[name])
      return entries[name]
    }
  }
}
