internal import RPC

/// Finds what a service config says about a method.
struct MethodConfigTable: Sendable {
  private var exact: [String: MethodConfig] = [:]
  private var byService: [String: MethodConfig] = [:]
  private var fallback: MethodConfig?

  init(_ configs: [MethodConfig]) {
    for config in configs {
      for name in config.names {
        if name.service.isEmpty {
          fallback = fallback ?? config
        } else if name.method.isEmpty {
          byService[name.service] = byService[name.service] ?? config
        } else {
          exact["/\(name.service)/\(name.method)"] = exact["/\(name.service)/\(name.method)"] ?? config
        }
      }
    }
  }

  var isEmpty: Bool { exact.isEmpty && byService.isEmpty && fallback == nil }

  /// The most particular entry alone counts: entries are not merged.
  subscript(method: MethodInfo) -> MethodConfig? {
    if isEmpty { return nil }
    return exact[method.path] ?? byService[method.service] ?? fallback
  }
}

extension MethodConfig {
  /// The caller's options with this entry's limits: of two limits the stricter one holds.
  func applied(to options: CallOptions) -> CallOptions {
    var options = options
    if let timeout {
      let deadline = Deadline.after(timeout)
      options.deadline = min(options.deadline ?? deadline, deadline)
    }
    if waitsForReady == true { options.waitsForReady = true }
    if let maximumResponseBytes {
      options.maximumResponseBytes = min(options.maximumResponseBytes ?? maximumResponseBytes, maximumResponseBytes)
    }
    return options
  }
}
