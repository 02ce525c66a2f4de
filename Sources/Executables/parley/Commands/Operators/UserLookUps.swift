import ArgumentParser
import JSON
import ParleyAPI
import RPC

/// `parley admin user list`
struct ListUsers: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List accounts, the latest made first.")

  @Option(help: "Of this app alone.") var app = ""
  @Option(help: "Of those who sign in with google, or with apple.") var provider: SignInProvider?
  @Option(help: .init("With this e-mail address.", valueName: "address")) var email = ""
  @Option(help: .init("Made then or later: 2026-01-31, 2026-01-31T12:00:00Z, or 90m, 12h, 7d ago.", valueName: "time"))
  var since: TimeArgument?
  @Option(help: .init("Made before.", valueName: "time")) var until: TimeArgument?
  @Flag(help: "Suspended ones alone.") var suspended = false
  @Option(help: "How many at most.") var limit = 100
  @OptionGroup var options: TargetOptions

  func validate() throws {
    guard limit > 0 else { throw ValidationError("--limit is 1 or more.") }
  }

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      var request = ListUsersRequest(
        app: app, provider: provider?.provider ?? .unspecified, email: email, createdSince: since?.timestamp,
        createdUntil: until?.timestamp, suspendedOnly: suspended)
      var users: [User] = []
      repeat {
        request.pageSize = Int32(min(100, limit - users.count))
        let response = try await connection.users.listUsers(request, options: .init(deadline: connection.deadline))
        users += response.users
        request.pageToken = response.nextPageToken
      } while !request.pageToken.isEmpty && users.count < limit
      if options.json {
        Console.write(json: ["users": .array(users.map(UserReport.json))])
      } else {
        Console.write(UserReport.heading, rows: users.map(UserReport.row))
      }
    }
  }
}

/// `parley admin user show`
struct ShowUser: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "show", abstract: "Show an account.")

  @OptionGroup var user: UserArgument
  @OptionGroup var options: TargetOptions

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      UserReport.write(try await user.find(connection), asJSON: options.json)
    }
  }
}

/// `parley admin user sessions`
struct ListUserSessions: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sessions", abstract: "List the devices that are signed in to an account, the last used first.")

  @OptionGroup var user: UserArgument
  @OptionGroup var options: TargetOptions

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      var request = ListUserSessionsRequest(userID: try await user.identifier(connection), pageSize: 100)
      var sessions: [Session] = []
      repeat {
        let response = try await connection.users.listUserSessions(request, options: .init(deadline: connection.deadline))
        sessions += response.sessions
        request.pageToken = response.nextPageToken
      } while !request.pageToken.isEmpty
      if options.json {
        Console.write(json: ["sessions": .array(sessions.map(SessionReport.json))])
      } else {
        Console.write(SessionReport.heading, rows: sessions.map(SessionReport.row))
      }
    }
  }
}
