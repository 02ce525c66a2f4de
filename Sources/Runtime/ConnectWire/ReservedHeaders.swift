/// The header fields that the protocols keep for themselves: never part of a user's metadata.
package enum ReservedHeaders {
  /// Whether a field of this lower-case name says something about the message or the call, and nothing of its user's.
  @inlinable
  package static func contains(_ name: String) -> Bool {
    if name.hasPrefix("grpc-") || name.hasPrefix("connect-") { return true }
    switch name {
    case "content-type", "content-encoding", "content-length", "accept-encoding", "te": return true
    default: return false
    }
  }
}
