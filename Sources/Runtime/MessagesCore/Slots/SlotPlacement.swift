/// What lies in a slot, as far as its place depends on it.
package enum SlotValue: Sendable {
  /// A scalar, text or bytes.
  case scalar(FieldDescriptor.Scalar)
  /// The number of an enum's value.
  case enumeration
  /// A pointer to the slots of a message.
  case message

  /// The bytes that one value takes, alone and as an element of a repeated field.
  package var bytes: Int {
    switch self {
    case .scalar(.string), .scalar(.bytes): SlotLayout.span
    case .scalar(.int64), .scalar(.sint64), .scalar(.sfixed64), .scalar(.uint64), .scalar(.fixed64), .scalar(.double): 8
    case .message: 8
    case .scalar, .enumeration: 4
    }
  }

  /// Whether a flag says that the value is there. An implicit -0.0 counts as set (its bits are not zero), so floating point needs
  /// one in any case; a message's pointer tells by itself.
  fileprivate func needsFlag(isExplicit: Bool) -> Bool {
    switch self {
    case .message: false
    case .scalar(.float), .scalar(.double): true
    case .scalar, .enumeration: isExplicit
    }
  }
}

/// The place of every field in the slots of its message: what wants 8-byte alignment first, then the 4-byte values and flags.
///
/// Generated messages and those that are made of descriptors at run time are laid out by this one rule.
package struct SlotPlacement {
  /// How a field takes part in the layout.
  package enum Field: Sendable {
    /// A value of its own; explicit when its absence differs from its default.
    case single(SlotValue, isExplicit: Bool)
    /// One of the values that share a place, by the number of their oneof.
    case member(SlotValue, ofOneof: Int)
    /// A count and a pointer to the elements: repeated fields and maps.
    case elements
  }

  /// Where a field lies, in bytes from the start of the slots.
  package struct Place: Sendable {
    /// Where the value, or the pointer to the elements, lies.
    package fileprivate(set) var value = 0
    /// Where the flag or the oneof's case lies; 0 if there is none.
    package fileprivate(set) var quantifier = 0
  }

  /// The places, in the order of the fields.
  package private(set) var places: [Place]
  /// The size of the slots, in bytes.
  package let size: Int

  /// Places the fields of one message, given in the order of their declaration.
  package init(_ fields: [Field]) {
    var end = SlotLayout.header
    func take(_ size: Int) -> Int {
      defer { end += size }
      return end
    }
    places = [Place](repeating: Place(), count: fields.count)
    var oneofBytes: [Int: Int] = [:]
    for (index, field) in fields.enumerated() {
      switch field {
      case .elements: places[index].value = take(16) + 8
      case .member(let value, let oneof): oneofBytes[oneof] = max(oneofBytes[oneof] ?? 8, value.bytes)
      case .single(let value, _): if value.bytes >= 8 { places[index].value = take(value.bytes) }
      }
    }
    let oneofs = oneofBytes.sorted { $0.key < $1.key }.map { (number: $0.key, at: take($0.value)) }
    for (index, field) in fields.enumerated() {
      guard case .single(let value, let isExplicit) = field else { continue }
      if value.bytes == 4 { places[index].value = take(4) }
      if value.needsFlag(isExplicit: isExplicit) { places[index].quantifier = take(4) }
    }
    let shared = Dictionary(uniqueKeysWithValues: oneofs.map { ($0.number, Place(value: $0.at, quantifier: take(4))) })
    for (index, field) in fields.enumerated() {
      if case .member(_, let oneof) = field { places[index] = shared[oneof] ?? Place() }
    }
    size = (end + 7) & ~7
  }
}

extension FieldDescriptor.Kind {
  /// What lies in a slot of this kind.
  package var slotValue: SlotValue {
    switch self {
    case .scalar(let scalar): .scalar(scalar)
    case .enumeration: .enumeration
    case .message: .message
    }
  }
}
