#if canImport(Security)
public import Foundation
import Security

/// Keeps tokens in the device's keychain: readable after the first unlock, never on another device.
///
/// An entry is replaced by deleting it and adding the new one, which works whatever attributes the former one had. Processes that
/// share an access group are not kept apart while they change an entry. It is compiled only where there is a keychain, so the
/// tests of this repository, which run on Linux, do not reach it.
public struct KeychainTokenStore: TokenStore {
  /// The service under which the entries are.
  public let service: String
  /// The access group that shares them, or nil for the app alone.
  public let accessGroup: String?

  /// A store in the keychain, by default for the app alone.
  public init(service: String = DebugLog.subsystem, accessGroup: String? = nil) {
    self.service = service
    self.accessGroup = accessGroup
  }

  /// The entry called `name`, or nil when there is none.
  ///
  /// - Throws: ``TokenStoreError`` with the keychain's status.
  public func load(_ name: String) throws -> [UInt8]? {
    var query = query(name)
    query[kSecReturnData] = true
    query[kSecMatchLimit] = kSecMatchLimitOne
    var found: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &found)
    if status == errSecItemNotFound { return nil }
    guard status == errSecSuccess, let data = found as? Data else { throw Self.failure("read", status) }
    return [UInt8](data)
  }

  /// Replaces an entry: delete, then add.
  ///
  /// - Throws: ``TokenStoreError`` with the keychain's status.
  public func save(_ bytes: [UInt8], as name: String) throws {
    try remove(name)
    var item = query(name)
    item[kSecValueData] = Data(bytes)
    item[kSecAttrAccessible] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
    let status = SecItemAdd(item as CFDictionary, nil)
    guard status == errSecSuccess else { throw Self.failure("write", status) }
  }

  /// Removes an entry, if it is there.
  ///
  /// - Throws: ``TokenStoreError`` with the keychain's status.
  public func remove(_ name: String) throws {
    let status = SecItemDelete(query(name) as CFDictionary)
    guard status == errSecSuccess || status == errSecItemNotFound else { throw Self.failure("remove", status) }
  }

  /// Changes an entry: a load and a save, between which nothing keeps another process away.
  ///
  /// - Throws: ``TokenStoreError`` with the keychain's status, or what `change` throws.
  public func update(_ name: String, _ change: @escaping @Sendable ([UInt8]?) throws -> [UInt8]?) throws -> [UInt8]? {
    let present = try load(name)
    let next = try change(present)
    if let next {
      if next != present { try save(next, as: name) }
    } else {
      try remove(name)
    }
    return next
  }

  private func query(_ name: String) -> [CFString: Any] {
    var query: [CFString: Any] = [
      kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: name,
    ]
    if let accessGroup { query[kSecAttrAccessGroup] = accessGroup }
    return query
  }

  private static func failure(_ verb: String, _ status: OSStatus) -> TokenStoreError {
    TokenStoreError(.system, "the keychain did not \(verb): status \(status)")
  }
}
#endif
