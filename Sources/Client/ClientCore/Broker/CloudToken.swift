public import Foundation

/// A short-lived cloud access token, as the broker handed it out. Its description does not show it.
public struct CloudToken: Sendable, Hashable, CustomStringConvertible {
  /// The token, opaque.
  public let value: String
  /// How to present it: `Bearer`.
  public let type: String
  /// When it runs out, by the device's clock.
  public let expiresAt: Date

  /// A token with its life.
  public init(value: String, type: String = "Bearer", expiresAt: Date) {
    self.value = value
    self.type = type
    self.expiresAt = expiresAt
  }

  /// The value of the header `authorization`.
  public var authorization: String { "\(type.isEmpty ? "Bearer" : type) \(value)" }

  /// That it is a token, and until when.
  public var description: String { "CloudToken(until \(expiresAt))" }
}

/// Who hands out cloud tokens to the consumers of them: ``TokenBrokerClient``.
public protocol CloudTokenProviding: Sendable {
  /// A token that is good for now; asked for anew before each request.
  func accessToken(capability: String) async throws -> CloudToken

  /// Says that the cloud refused a token, so that nobody gets it again.
  func discard(_ token: CloudToken) async
}
