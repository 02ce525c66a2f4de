/// A value held by reference, so that a message can contain itself.
public indirect enum Indirect<Wrapped> {
  /// The value.
  case value(Wrapped)

  /// Boxes a value.
  @inlinable public init(_ value: Wrapped) { self = .value(value) }

  /// The value.
  @inlinable public var wrapped: Wrapped {
    switch self {
    case .value(let value): value
    }
  }
}

extension Indirect: Sendable where Wrapped: Sendable {}
extension Indirect: Equatable where Wrapped: Equatable {}
extension Indirect: Hashable where Wrapped: Hashable {}
