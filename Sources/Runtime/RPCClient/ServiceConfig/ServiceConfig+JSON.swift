internal import JSON
internal import RPC

extension ServiceConfig {
  /// Reads gRPC's JSON, strictly: what is misspelt or out of range is refused, not ignored. Two things are lenient because
  /// gRPC says so: of `loadBalancingConfig` the first policy known here counts, and more than five attempts are five.
  ///
  /// - Throws: ``ServiceConfigError``, which says where the mistake is.
  public init(json text: String) throws(ServiceConfigError) {
    let value: JSONValue
    do { value = try JSONParser.parse(Array(text.utf8)) } catch {
      throw ServiceConfigError(.notJSON, "", "a service config is a JSON object: \(error)")
    }
    let top = try ConfigField(path: "", value: value).members(
      ["methodConfig", "loadBalancingPolicy", "loadBalancingConfig", "retryThrottling"], unsupported: ["healthCheckConfig"])
    var methods: [MethodConfig] = []
    var named: Set<MethodConfig.Name> = []
    for field in try top["methodConfig"]?.elements() ?? [] {
      let method = try MethodConfig(field)
      for (index, name) in method.names.enumerated() where !named.insert(name).inserted {
        throw ServiceConfigError(.invalidValue, "\(field.path).name[\(index)]", "has an entry already")
      }
      methods.append(method)
    }
    self.init(
      methods: methods, loadBalancing: try Self.loadBalancing(top),
      retryThrottling: try top["retryThrottling"].map { (field) throws(ServiceConfigError) in try RetryThrottling(field) })
  }

  private static func loadBalancing(_ top: ConfigObject) throws(ServiceConfigError) -> LoadBalancingPolicy? {
    // The list replaces the single name, which is the older form.
    if let list = top["loadBalancingConfig"] {
      for entry in try list.elements() {
        guard let object = entry.value.object, object.count == 1, let member = object.members.first else {
          throw entry.invalid("must be an object with one member, the policy's name")
        }
        let settings = ConfigField(path: entry.child(member.name), value: member.value)
        switch member.name {
        case "pick_first":
          let shuffled = try settings.members(["shuffleAddressList"])["shuffleAddressList"]
          return .pickFirst(shuffled: try shuffled?.flag() ?? false)
        case "round_robin":
          _ = try settings.members([])
          return .roundRobin
        default: continue
        }
      }
      throw list.invalid("has no policy that is known here: pick_first, round_robin")
    }
    guard let name = top["loadBalancingPolicy"] else { return nil }
    switch try name.text().lowercased() {
    case "pick_first": return .pickFirst()
    case "round_robin": return .roundRobin
    default: throw name.invalid("must be \"pick_first\" or \"round_robin\"")
    }
  }
}

extension MethodConfig {
  fileprivate init(_ field: ConfigField) throws(ServiceConfigError) {
    let members = try field.members(
      ["name", "timeout", "waitForReady", "maxRequestMessageBytes", "maxResponseMessageBytes", "retryPolicy"],
      unsupported: ["hedgingPolicy"])
    var names: [Name] = []
    for entry in try members.required("name").elements() {
      let parts = try entry.members(["service", "method"])
      let name = Name(service: try parts["service"]?.text() ?? "", method: try parts["method"]?.text() ?? "")
      guard !name.service.isEmpty || name.method.isEmpty else { throw entry.invalid("names a method but no service") }
      names.append(name)
    }
    guard !names.isEmpty else { throw ServiceConfigError(.invalidValue, field.child("name"), "must not be empty") }
    let bytes = 0...Int(UInt32.max)
    self.init(
      names, timeout: try members["timeout"]?.positiveDuration(), waitsForReady: try members["waitForReady"]?.flag(),
      maximumRequestBytes: try members["maxRequestMessageBytes"]?.integer(in: bytes),
      maximumResponseBytes: try members["maxResponseMessageBytes"]?.integer(in: bytes),
      retry: try members["retryPolicy"].map { (field) throws(ServiceConfigError) in try RetryPolicy(field) })
  }
}

extension RetryPolicy {
  fileprivate init(_ field: ConfigField) throws(ServiceConfigError) {
    let members = try field.members(
      ["maxAttempts", "initialBackoff", "maxBackoff", "backoffMultiplier", "retryableStatusCodes"],
      unsupported: ["perAttemptRecvTimeout"])
    let codes = try members.required("retryableStatusCodes")
    var retryable: Set<StatusCode> = []
    for code in try codes.elements() { retryable.insert(try code.failureCode()) }
    guard !retryable.isEmpty else { throw codes.invalid("must not be empty") }
    self.init(
      maximumAttempts: try members.required("maxAttempts").integer(in: 2...Int.max),
      initialBackoff: try members.required("initialBackoff").positiveDuration(),
      maximumBackoff: try members.required("maxBackoff").positiveDuration(),
      backoffMultiplier: try members.required("backoffMultiplier").positiveNumber(), retryableCodes: retryable)
  }
}

extension RetryThrottling {
  fileprivate init(_ field: ConfigField) throws(ServiceConfigError) {
    let members = try field.members(["maxTokens", "tokenRatio"])
    let ratio = try members.required("tokenRatio")
    let value = try ratio.positiveNumber()
    guard value >= 0.001 else { throw ratio.invalid("must be at least 0.001: three digits behind the point count") }
    self.init(maximumTokens: try members.required("maxTokens").integer(in: 1...1_000), tokenRatio: value)
  }
}
