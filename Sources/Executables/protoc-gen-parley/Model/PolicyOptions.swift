import WellKnown

/// The options of `parley/options/v1/policy.proto`: limits, repeated requests and ownership, as arguments of a method's descriptor.
struct PolicyOptions {
  /// A limit as a method gives it.
  struct Limit: Equatable {
    let name: String
    let sharing: String
    let perMinute: UInt64
    let burst: UInt64
    let failsOpen: Bool

    var argument: String {
      "MethodLimit(\"\(name)\", per: .\(sharing), perMinute: \(perMinute), burst: \(burst)\(failsOpen ? ", failsOpen: true" : ""))"
    }
  }

  private static let limitNumber: UInt64 = 50002
  private static let idempotencyNumber: UInt64 = 50003
  private static let mostPerMinute: UInt64 = 1_000_000
  private static let minutesPerDay: UInt64 = 1_440
  private static let mostHours: UInt64 = 720

  let limits: [Limit]
  /// What `replay:` is given, and `owners:`; nil without the option.
  let replay: String?
  let owners: String?

  /// The arguments that come behind a method's access and idempotency.
  var arguments: [String] {
    (limits.isEmpty ? [] : ["limits: [\(limits.map(\.argument).joined(separator: ", "))]"])
      + (replay.map { ["replay: \($0)"] } ?? []) + (owners.map { ["owners: \($0)"] } ?? [])
  }

  /// Reads a method's options.
  ///
  /// - Throws: ``GenerationError`` when they contradict each other, the method's access or its messages; or when a method of ours that
  ///   is not public does not say what becomes of a request that comes twice. Methods of others have none.
  init(
    _ method: GoogleProtobuf.MethodDescriptorProto, access: String, in service: String, _ context: FileContext
  ) throws(GenerationError) {
    guard SwiftNames.namespace(ofPackage: context.package) == nil else {
      (limits, replay, owners) = ([], nil, nil)
      return
    }
    let subject = Subject(name: "\(service).\(method.name ?? "")", method: method, access: access, types: context.types)
    let fields = ExtensionFields(method.options?.unknownFields)
    limits = try Self.limits(fields.messages(Self.limitNumber), subject)
    replay = try Self.replay(fields.messages(Self.idempotencyNumber).last, subject)
    owners = try OwnerFields(subject).argument
  }

  /// A method, as the rules look at it.
  struct Subject {
    let name: String
    let method: GoogleProtobuf.MethodDescriptorProto
    let access: String
    let types: TypeIndex

    var hasCaller: Bool { access == "session" || access == "subscribed" }

    func fault(_ text: String) -> GenerationError { GenerationError("\(name) \(text)") }
  }

  // MARK: Limits

  private static func limits(_ messages: [ExtensionFields], _ subject: Subject) throws(GenerationError) -> [Limit] {
    var limits: [Limit] = []
    for message in messages {
      let limit = try limit(message, subject)
      guard !limits.contains(where: { $0.name == limit.name }) else {
        throw subject.fault("has two rate limits that are called '\(limit.name)'")
      }
      limits.append(limit)
    }
    return limits
  }

  private static func limit(_ message: ExtensionFields, _ subject: Subject) throws(GenerationError) -> Limit {
    let sharing: String
    let name = message.text(5)
    switch message.number(1) {
    case 1: sharing = "user"
    case 2: sharing = "address"
    case 3: sharing = "session"
    case 4: sharing = "device"
    default: throw subject.fault("has a rate limit that does not say whose: set 'per'")
    }
    guard isName(name) else {
      throw subject.fault("has a rate limit called '\(name)': a name is [a-z][a-z0-9-]{0,31}")
    }
    if sharing == "user" || sharing == "session", !subject.hasCaller {
      throw subject.fault("limits each \(sharing), but its callers have no session: it is for SESSION and SUBSCRIBED access")
    }
    if sharing == "device", subject.access != "device" {
      throw subject.fault("limits each device, but its callers need none: it is for DEVICE access")
    }
    let (perMinute, burst) = (message.number(2), message.number(3))
    guard (1...mostPerMinute).contains(perMinute), (1...mostPerMinute).contains(burst) else {
      throw subject.fault("has the rate limit '\(name)' without per_minute and burst, each 1 to \(mostPerMinute)")
    }
    guard burst <= perMinute * minutesPerDay else {
      throw subject.fault(
        "has the rate limit '\(name)', whose bucket takes longer than a day to fill: idle ones are removed after that")
    }
    return Limit(name: name, sharing: sharing, perMinute: perMinute, burst: burst, failsOpen: message.number(4) != 0)
  }

  private static func isName(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    return (1...32).contains(bytes.count) && (0x61...0x7a).contains(bytes[0])
      && bytes.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d }
  }

  /// Checks that limits of one name are one limit.
  static func checkShared(_ limits: [(method: String, limit: Limit)]) throws(GenerationError) {
    var known: [String: (method: String, limit: Limit)] = [:]
    for entry in limits {
      guard let first = known[entry.limit.name] else {
        known[entry.limit.name] = entry
        continue
      }
      guard first.limit == entry.limit else {
        throw GenerationError(
          "\(first.method) and \(entry.method) share the rate limit '\(entry.limit.name)' and differ about it")
      }
    }
  }

  // MARK: Repeated requests

  private static func replay(_ option: ExtensionFields?, _ subject: Subject) throws(GenerationError) -> String? {
    let level = subject.method.options?.idempotencyLevel
    let isHarmless = level == .noSideEffects || level == .idempotent
    guard let option else {
      guard isHarmless || subject.access == "public" else {
        throw subject.fault(
          "does not say what becomes of a request that comes twice: set idempotency_level, or option (parley.options.v1.idempotency)"
        )
      }
      return nil
    }
    guard !isHarmless else { throw subject.fault("keeps answers by key, though idempotency_level says that there is no need") }
    guard subject.hasCaller else {
      throw subject.fault("keeps answers by key, but its callers have no session: it is for SESSION and SUBSCRIBED access")
    }
    guard subject.method.clientStreaming != true, subject.method.serverStreaming != true else {
      throw subject.fault("keeps answers by key, but has streams: only one request and one response are kept")
    }
    let hours = option.number(2)
    guard hours <= mostHours else { throw subject.fault("keeps answers for \(hours) hours: 720 at most") }
    for type in [subject.method.inputType, subject.method.outputType] where try hasMap(type ?? "", subject.types) {
      throw subject.fault("keeps answers by key, but \(type ?? "") holds a map: equal maps may have different bytes")
    }
    let request = try subject.types.entry(subject.method.inputType).message
    guard
      let key = request?.field.first(where: { $0.name == "idempotency_key" }), key.type == .string, key.label != .repeated,
      key.oneofIndex == nil
    else { throw subject.fault("keeps answers by key, but its request has no field 'string idempotency_key'") }
    return "MethodReplay(keptHours: \(hours == 0 ? 24 : hours), isKeyOptional: \(option.number(1) != 0)) { $0.idempotencyKey }"
  }

  /// Whether a message holds a map, directly or not.
  private static func hasMap(_ name: String, _ types: TypeIndex) throws(GenerationError) -> Bool {
    var open = [name]
    var seen: Set<String> = []
    while let name = open.popLast() {
      guard seen.insert(name).inserted, let message = try types.entry(name).message else { continue }
      if message.options?.mapEntry == true { return true }
      for field in message.field where field.type == .message { open.append(field.typeName ?? "") }
    }
    return false
  }
}
