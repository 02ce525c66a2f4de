import WellKnown

/// The fields of a method's request that name its caller's account: the option `(parley.options.v1.owner)`.
///
/// Looked for in the request and in the messages that it holds by singular fields.
struct OwnerFields {
  private static let number: UInt64 = 50004

  /// Swift that reads one account each, and several.
  private var single: [String] = []
  private var lists: [String] = []

  /// What `owners:` is given; nil when there is no such field.
  var argument: String? {
    guard !single.isEmpty || !lists.isEmpty else { return nil }
    let parts = (single.isEmpty ? [] : ["[\(single.joined(separator: ", "))]"]) + lists
    return "{ \(parts.joined(separator: " + ")) }"
  }

  init(_ subject: PolicyOptions.Subject) throws(GenerationError) {
    // What is no request of a person's may hold such a field further down: a profile is a profile.
    try add(subject.method.inputType ?? "", "$0", isOptional: false, path: [], subject)
    guard argument != nil else { return }
    guard subject.method.clientStreaming != true else {
      throw subject.fault("names the caller's account in a stream of requests: only a single request is looked at")
    }
  }

  private mutating func add(
    _ name: String, _ base: String, isOptional: Bool, path: [String], _ subject: PolicyOptions.Subject
  ) throws(GenerationError) {
    guard let message = try subject.types.entry(name).message, !path.contains(name) else { return }
    let model = try MessageModel(message, fullName: String(name.dropFirst()), isProto3: true, subject.types)
    for field in model.fields {
      let text = "\(base).\(SwiftNames.escaped(field.name))"
      if field.proto.type == .message, case .explicit = field.presence {
        try add(field.proto.typeName ?? "", "\(text)?", isOptional: true, path: path + [name], subject)
      }
      guard ExtensionFields(field.proto.options?.unknownFields).number(Self.number) != 0 else { continue }
      guard field.proto.type == .string else {
        throw subject.fault("has a request with the field '\(field.proto.name ?? "")', which is an owner and no string")
      }
      guard subject.hasCaller else {
        guard path.isEmpty else { continue }
        throw subject.fault(
          "wants '\(field.proto.name ?? "")' to be its caller's account, but callers have none: that is for SESSION and SUBSCRIBED access"
        )
      }
      switch field.presence {
      case .implicit: single.append(isOptional ? "\(text) ?? \"\"" : text)
      case .explicit: single.append("\(text) ?? \"\"")
      case .repeated: lists.append(isOptional ? "(\(text) ?? [])" : text)
      case .oneof, .map: throw subject.fault("has an owner in a oneof or a map, where it is not looked for")
      }
    }
  }
}
