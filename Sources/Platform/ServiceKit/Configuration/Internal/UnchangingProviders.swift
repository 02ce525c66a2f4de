public import Configuration

/// A source that holds something for a key, which cannot be used.
struct SourceError: Error {
  let source: String
  let message: String
}

/// Neither the command line nor the environment of a process changes while it runs.
extension ConfigProvider {
  func watchUnchanging<Return: ~Copyable>(
    _ key: AbsoluteConfigKey, _ type: ConfigType,
    _ handler: (ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>) async throws -> Return
  ) async throws -> Return {
    try await watchValueFromValue(forKey: key, type: type, updatesHandler: handler)
  }
}

extension FlagProvider {
  /// The value of a key here, or none.
  public func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
    try value(forKey: key, type: type)
  }

  /// The one value that the key will ever have here.
  public func watchValue<Return: ~Copyable>(
    forKey key: AbsoluteConfigKey, type: ConfigType,
    updatesHandler: (ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>) async throws -> Return
  ) async throws -> Return {
    try await watchUnchanging(key, type, updatesHandler)
  }

  /// All values.
  public func snapshot() -> any ConfigSnapshot { UnchangingSnapshot(provider: self) }

  /// The one state that this source will ever have.
  public func watchSnapshot<Return: ~Copyable>(
    updatesHandler: (ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
  ) async throws -> Return {
    try await watchSnapshotFromSnapshot(updatesHandler: updatesHandler)
  }
}

extension EnvironmentProvider {
  /// The value of a key here, or none.
  public func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
    try value(forKey: key, type: type)
  }

  /// The one value that the key will ever have here.
  public func watchValue<Return: ~Copyable>(
    forKey key: AbsoluteConfigKey, type: ConfigType,
    updatesHandler: (ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>) async throws -> Return
  ) async throws -> Return {
    try await watchUnchanging(key, type, updatesHandler)
  }

  /// All values.
  public func snapshot() -> any ConfigSnapshot { UnchangingSnapshot(provider: self) }

  /// The one state that this source will ever have.
  public func watchSnapshot<Return: ~Copyable>(
    updatesHandler: (ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
  ) async throws -> Return {
    try await watchSnapshotFromSnapshot(updatesHandler: updatesHandler)
  }
}

private struct UnchangingSnapshot: ConfigSnapshot {
  let provider: any ConfigProvider
  var providerName: String { provider.providerName }
  func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
    try provider.value(forKey: key, type: type)
  }
}

extension ConfigContent {
  /// A text as the type that a reader asks for.
  static func reading(_ text: String, as type: ConfigType, key: String) throws -> ConfigContent {
    switch type {
    case .string: return .string(text)
    case .int: if let value = Int(text) { return .int(value) }
    case .double: if let value = Double(text) { return .double(value) }
    case .bool: if let value = Bool(configurationText: text) { return .bool(value) }
    case .stringArray: return .stringArray([String](configurationText: text) ?? [])
    case .bytes: return .bytes(Array(text.utf8))
    case .intArray: if let value = [Int](configurationText: text) { return .intArray(value) }
    case .doubleArray, .boolArray, .byteChunkArray: break
    }
    throw SourceError(source: key, message: "it cannot be read as \(type)")
  }
}
