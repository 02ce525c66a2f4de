import MessagesCore

/// The fields of a message with their places in its slots and their names in JSON.
struct SlotPlan {
  /// The fields with their places, in ascending order of their numbers.
  private(set) var fields: [FieldDescriptor] = []
  /// The size of the slots, in bytes.
  let size: Int

  init(_ plans: [FieldPlan]) {
    let placement = SlotPlacement(plans.map(\.slot))
    size = placement.size
    let jsonNames = Self.jsonNames(plans)
    fields = plans.indices.map { Self.field(plans[$0], jsonNames[$0], placement.places[$0]) }.sorted { $0.number < $1.number }
  }

  private static func field(_ plan: FieldPlan, _ jsonName: String, _ place: SlotPlacement.Place) -> FieldDescriptor {
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

extension FieldPlan {
  /// How the field takes part in the layout.
  fileprivate var slot: SlotPlacement.Field {
    switch presence {
    case .implicit: .single(kind.slotValue, isExplicit: false)
    case .explicit: .single(kind.slotValue, isExplicit: true)
    case .oneof(let oneof): .member(kind.slotValue, ofOneof: oneof)
    case .repeated, .map: .elements
    }
  }
}
