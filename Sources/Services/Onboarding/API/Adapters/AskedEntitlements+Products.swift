internal import ParleyProvider

/// The auth service knows which product somebody has.
extension AskedEntitlements: ProductAsking {}
