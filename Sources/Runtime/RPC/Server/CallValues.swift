/// A value that interceptors attach to a call for those that come after them: who the caller is, what a limit said.
public protocol CallValueKey {
  /// The type of the value.
  associatedtype Value: Sendable
}

/// The values attached to one call. A handful at most, so a list is searched.
public struct CallValues: Sendable {
  @usableFromInline var entries: [(key: ObjectIdentifier, value: any Sendable)] = []

  /// Whether nothing is attached.
  @inlinable public var isEmpty: Bool { entries.isEmpty }

  /// No values.
  public init() {}

  /// The value attached under `key`.
  public subscript<Key: CallValueKey>(key: Key.Type) -> Key.Value? {
    get {
      // Casting nothing is not free.
      guard let entry = entries.first(where: { $0.key == ObjectIdentifier(key) }) else { return nil }
      return entry.value as? Key.Value
    }
    set {
      entries.removeAll { $0.key == ObjectIdentifier(key) }
      if let newValue { entries.append((ObjectIdentifier(key), newValue)) }
    }
  }
}
