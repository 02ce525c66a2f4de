internal import AuthDomain
internal import ServiceKit

/// Who was found entitled, as this copy of the service remembers it.
typealias EntitlementMemory = RememberedEntitlements<UserID, Moment>
