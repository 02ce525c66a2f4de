/// A value that interceptors attach to a call for those that come after them: who the caller is, what a limit said.
public protocol CallValueKey {
  /// The type of the value.
  associatedtype Value: Sendable
}

/// Who sends a request that may be large, as far as an interceptor knows: nobody has two of them worked on at once.
public enum RequestOwner: CallValueKey {
  /// Any name of theirs.
  public typealias Value = String
}

/// The values attached to one call. A handful at most, so a list is searched.
public struct CallValues: Sendable {
  @usableFromInline typealias Entry = (key: ObjectIdentifier, value: any AnyObject & Sendable)

  /// A value in a box of its type, so that it is taken out without a cast, which costs more than all else here.
  @usableFromInline final class Box<Value: Sendable>: Sendable {
    @usableFromInline let value: Value
    @inlinable init(_ value: Value) { self.value = value }
  }

  /// Most calls have one value or none.
  @usableFromInline var first: Entry?
  /// Nil rather than empty: a copy of nil counts no reference.
  @usableFromInline var others: [Entry]?

  /// Whether nothing is attached.
  @inlinable public var isEmpty: Bool { first == nil }

  /// No values.
  @inlinable public init() {}

  /// The value attached under `key`.
  public subscript<Key: CallValueKey>(key: Key.Type) -> Key.Value? {
    @inlinable get {
      guard let first else { return nil }
      let entry = first.key == ObjectIdentifier(key) ? first : others?.first { $0.key == ObjectIdentifier(key) }
      guard let entry else { return nil }
      // What is kept under a key is a box of the key's type: see the setter.
      return unsafeDowncast(entry.value, to: Box<Key.Value>.self).value
    }
    @inlinable set {
      remove(ObjectIdentifier(key))
      guard let newValue else { return }
      add((ObjectIdentifier(key), Box(newValue)))
    }
  }

  /// Attaches a value that was made ready, which allocates nothing.
  @inlinable public mutating func attach<Key>(_ value: AttachableValue<Key>) {
    remove(ObjectIdentifier(Key.self))
    add((ObjectIdentifier(Key.self), value.box))
  }

  @usableFromInline mutating func add(_ entry: Entry) {
    if first == nil { first = entry } else { others = (others ?? []) + [entry] }
  }

  @usableFromInline mutating func remove(_ key: ObjectIdentifier) {
    guard let first else { return }
    guard first.key == key else {
      others?.removeAll { $0.key == key }
      return
    }
    self.first = others?.popLast()
  }
}

/// A value that is made ready once, to be attached to many calls.
public struct AttachableValue<Key: CallValueKey>: Sendable {
  @usableFromInline let box: CallValues.Box<Key.Value>

  /// Makes a value ready to be attached under the key.
  @inlinable public init(_ value: Key.Value) { box = CallValues.Box(value) }

  /// The value.
  @inlinable public var value: Key.Value { box.value }
}
