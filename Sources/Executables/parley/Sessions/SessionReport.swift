import Foundation
import JSON
import ParleyAPI
import WellKnown

/// Sessions, for people and for programs.
enum SessionReport {
  static let heading = ["ID", "", "DEVICE", "PLATFORM", "PROVIDER", "SIGNED IN", "LAST USED", "ADDRESS"]

  static func row(_ session: Session) -> [String] {
    [
      session.id, session.isCurrent ? "*" : "", session.device?.name ?? "", session.device?.platform ?? "",
      name(of: session.provider), session.createdAt.map(text) ?? "", session.lastUsedAt.map(text) ?? "", session.lastAddress,
    ].map(Printable.text)
  }

  static func json(_ session: Session) -> JSONValue {
    var object: JSONObject = ["id": .string(session.id), "is_current": .bool(session.isCurrent)]
    object["device"] = session.device.map { .string($0.name) }
    object["platform"] = session.device.map { .string($0.platform) }
    object["provider"] = .string(name(of: session.provider))
    object["created_at"] = session.createdAt.map { .string(text($0)) }
    object["last_used_at"] = session.lastUsedAt.map { .string(text($0)) }
    object["last_address"] = .string(session.lastAddress)
    object["expires_at"] = session.expiresAt.map { .string(text($0)) }
    return .object(object)
  }

  static func name(of provider: IdentityProvider) -> String {
    switch provider {
    case .google: "google"
    case .apple: "apple"
    case .unspecified, .unrecognized: "unknown"
    }
  }

  /// `2026-01-02T03:04:05Z`
  static func text(_ time: GoogleProtobuf.Timestamp) -> String {
    Date(timeIntervalSince1970: Double(time.seconds)).formatted(.iso8601)
  }
}
