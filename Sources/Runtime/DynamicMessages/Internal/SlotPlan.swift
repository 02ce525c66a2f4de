import MessagesCore

/// Gives every field its place in the slots: what wants 8-byte alignment first, then the 4-byte values and flags.
struct SlotPlan {
  /// The fields with their places, in ascending order of their numbers.
  private(set) var fields: [FieldDescriptor] = []
  /// The size of the slots, in bytes.
  let size: Int

  private struct Place {
    /// Where the value, or the pointer to the elements, lies.
    var value = 0
    /// Where the flag or the case lies; 0 if there is none.
    var quantifier = 0
  }

  init(_ plans: [FieldPlan], oneofCount: Int) {
    var end = SlotLayout.header
    func take(_ size: Int) -> Int {
      defer { end += size }
      return end
    }
    var places = [Place](repeating: Place(), count: plans.count)
    var memberSizes: [Int: Int] = [:]
    for (index, plan) in plans.enumerated() {
      let size = plan.kind.slotSize
      switch plan.presence {
      case .repeated, .map: places[index].value = take(16) + 8
      case .oneof(let oneof): memberSizes[oneof] = max(memberSizes[oneof] ?? 8, size)
      case .implicit, .explicit: if size >= 8 { places[index].value = take(size) }
      }
    }
    let oneofValues = memberSizes.sorted { $0.key < $1.key }.map { (oneof: $0.key, at: take($0.value)) }
    for (index, plan) in plans.enumerated() where plan.presence == .implicit || plan.presence == .explicit {
      if plan.kind.slotSize == 4 { places[index].value = take(4) }
      // An implicit -0.0 counts as set (its bits are not zero), so floating point needs a flag too.
      if plan.kind.needsFlag(isExplicit: plan.presence == .explicit) { places[index].quantifier = take(4) }
    }
    let oneofPlaces = Dictionary(
      uniqueKeysWithValues: oneofValues.map { ($0.oneof, Place(value: $0.at, quantifier: take(4))) })
    for (index, plan) in plans.enumerated() {
      if case .oneof(let oneof) = plan.presence { places[index] = oneofPlaces[oneof] ?? Place() }
    }
    size = (end + 7) & ~7
    let jsonNames = Self.jsonNames(plans)
    fields = plans.indices.map { Self.field(plans[$0], jsonNames[$0], places[$0]) }.sorted { $0.number < $1.number }
  }

  private static func field(_ plan: FieldPlan, _ jsonName: String, _ place: Place) -> FieldDescriptor {
    let shape: FieldDescriptor.Shape =
      switch plan.presence {
      case .implicit: .implicit(has: place.quantifier)
      case .explicit: .optional(has: place.quantifier)
      case .oneof: .oneof(caseAt: place.quantifier)
      case .repeated(let isPacked): .repeated(packed: isPacked)
      case .map: .map
      }
    return FieldDescriptor(plan.number, plan.name, json: jsonName, plan.kind, shape, at: place.value)
  }

  /// The names in JSON. One that is another field's name too, in either form, gives way to the name in the file.
  private static func jsonNames(_ plans: [FieldPlan]) -> [String] {
    var uses: [String: Int] = [:]
    for plan in plans { for name in Set([plan.name, plan.jsonName]) { uses[name, default: 0] += 1 } }
    return plans.map { uses[$0.jsonName] == 1 ? $0.jsonName : $0.name }
  }
}

extension FieldDescriptor.Kind {
  /// The bytes that one value takes.
  fileprivate var slotSize: Int {
    switch self {
    case .enumeration: 4
    case .message: 8
    case .scalar(let scalar):
      switch scalar {
      case .string, .bytes: SlotLayout.span
      case .int64, .sint64, .sfixed64, .uint64, .fixed64, .double: 8
      default: 4
      }
    }
  }

  fileprivate func needsFlag(isExplicit: Bool) -> Bool {
    switch self {
    case .message: false
    case .scalar(.float), .scalar(.double): true
    case .scalar, .enumeration: isExplicit
    }
  }
}
