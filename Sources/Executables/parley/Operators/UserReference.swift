import ArgumentParser
import ParleyAPI
import RPC

/// A person as an operator names them.
enum UserReference: ExpressibleByArgument, Sendable {
  /// By the account's identifier.
  case identifier(String)
  /// By what the provider calls them.
  case subject(SignInProvider, String)
  /// By an e-mail address, which may be that of several accounts.
  case email(String)

  init?(argument: String) {
    guard !argument.isEmpty else { return nil }
    for provider in SignInProvider.allCases where argument.hasPrefix("\(provider.rawValue):") {
      self = .subject(provider, String(argument.dropFirst(provider.rawValue.count + 1)))
      return
    }
    self = argument.contains("@") ? .email(argument) : .identifier(argument)
  }

  /// The account's identifier.
  func identifier(app: String, _ connection: Connection) async throws -> String {
    if case .identifier(let id) = self { return id }
    return try await find(app: app, connection).profile?.userID ?? ""
  }

  /// The account.
  ///
  /// - Throws: `RPCError` when there is none; `ValidationError` when an address names several.
  func find(app: String, _ connection: Connection) async throws -> User {
    let options = CallOptions(deadline: connection.deadline)
    switch self {
    case .identifier(let id):
      return try await connection.users.getUser(.init(userID: id), options: options).user ?? .init()
    case .subject(let provider, let subject):
      let request = GetUserRequest(app: app, provider: provider.provider, subject: subject)
      return try await connection.users.getUser(request, options: options).user ?? .init()
    case .email(let address):
      let found = try await connection.users.listUsers(.init(app: app, email: address, pageSize: 100), options: options).users
      guard let user = found.first else {
        throw RPCError(
          .notFound, "no such account",
          details: [.errorInfo(reason: "USER_NOT_FOUND", domain: "parley.auth.v1", metadata: [:])])
      }
      guard found.count == 1 else {
        let names = found.compactMap(\.profile?.userID).joined(separator: ", ")
        throw ValidationError("\(found.count) accounts have this address: name one of \(names).")
      }
      return user
    }
  }
}

/// The account that a command is about.
struct UserArgument: ParsableArguments {
  @Argument(help: .init("The account's identifier, google:<sub>, apple:<sub>, or an e-mail address.", valueName: "user"))
  var user: UserReference
  @Option(help: .init("The app of the account; else the default one, for an address any.", valueName: "name")) var app = ""

  func identifier(_ connection: Connection) async throws -> String { try await user.identifier(app: app, connection) }
  func find(_ connection: Connection) async throws -> User { try await user.find(app: app, connection) }
}

extension Connection {
  /// People's accounts, for operators.
  var users: UserAdminService.Client { .init(channel) }
}
