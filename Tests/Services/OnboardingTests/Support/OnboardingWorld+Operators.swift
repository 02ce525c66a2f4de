import AuthDomain
import EventLoop
import MessagesCore
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestSupport
import Testing
import Values

/// The service as operators and other services see it.
extension OnboardingWorld {
  /// A setting by which whoever shows the services' certificate is an operator.
  static let operated = ["TLS_ADMIN_IDENTITIES": "spiffe://parley/test"]

  /// What a call by certificate carries: no session, and from now on time enough for a slow machine.
  static func withoutSession() -> CallOptions { CallOptions(deadline: .after(.seconds(55).withPatience)) }

  /// Calls what only operators may; the world has to be `operated`.
  func asOperator<Value: Sendable>(
    _ body: @escaping @Sendable (OnboardingAdminService.Client) async throws -> Value
  ) async throws -> Value {
    try await parley.withSecureChannel(to: instance, showing: .service) { channel in
      try await body(OnboardingAdminService.Client(channel))
    }
  }

  /// Calls what the auth service calls when somebody wants to have, or to have deleted, what is kept of them.
  func withAccountData<Value: Sendable>(
    _ body: @escaping @Sendable (AccountDataService.Client) async throws -> Value
  ) async throws -> Value {
    try await parley.withSecureChannel(to: instance, showing: .service) { channel in
      try await body(AccountDataService.Client(channel))
    }
  }

  /// Deletes what is kept of somebody, by a deletion of its own.
  @discardableResult
  func deleteAccount(of user: TestUser) async throws -> DeleteResponse {
    try await withAccountData { data in
      try await data.delete(
        .init(userID: user.userID.description, workID: UUID.v7().description), options: Self.withoutSession())
    }
  }

  /// What a line of the exposition says; nil where there is none. The world needs an `ADMIN_LISTEN`.
  func metric(_ series: String) async throws -> Double? {
    let page = "http://\(try #require(instance.addresses.admin))/metrics"
    let text = try await http.send(HTTPRequest(.get, page)).text ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix(series + " ") }
    return line.flatMap { Double($0.dropFirst(series.count + 1)) }
  }
}
