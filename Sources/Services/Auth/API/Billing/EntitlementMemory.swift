internal import AuthDomain
internal import ServiceKit
internal import Values

/// Who was found entitled, as this copy of the service remembers it.
typealias EntitlementMemory = RememberedEntitlements<UserID, Instant>
