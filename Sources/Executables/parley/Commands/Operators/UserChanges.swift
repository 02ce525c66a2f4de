import ArgumentParser
import JSON
import ParleyAPI
import RPC

/// Why an operator does something.
struct ReasonOption: ParsableArguments {
  @Option(help: "Why: kept for ever, for operators alone.") var reason: String
}

/// `parley admin user suspend`
struct SuspendUser: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "suspend", abstract: "End all sessions of an account and let nobody sign in to it.",
    discussion: "Access tokens that are around are refused by every service within 5 s.")

  @OptionGroup var user: UserArgument
  @OptionGroup var why: ReasonOption
  @OptionGroup var options: TargetOptions

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      let response = try await connection.users.suspendUser(
        .init(userID: try await user.identifier(connection), reason: why.reason), options: .init(deadline: connection.deadline))
      let count = Int(response.endedSessions)
      if options.json {
        var object = UserReport.members(response.user ?? .init())
        object["ended_sessions"] = .number(JSONNumber(count))
        Console.write(json: .object(object))
      } else {
        Console.write(line: "suspended; ended \(count) session\(count == 1 ? "" : "s")")
      }
    }
  }
}

/// `parley admin user reinstate`
struct ReinstateUser: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reinstate", abstract: "Let a person sign in again. Sessions stay ended.")

  @OptionGroup var user: UserArgument
  @OptionGroup var why: ReasonOption
  @OptionGroup var options: TargetOptions

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      let response = try await connection.users.reinstateUser(
        .init(userID: try await user.identifier(connection), reason: why.reason), options: .init(deadline: connection.deadline))
      if options.json {
        Console.write(json: .object(UserReport.members(response.user ?? .init())))
      } else {
        Console.write(line: "reinstated")
      }
    }
  }
}

/// `parley admin user sign-out`
struct SignOutUser: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign-out", abstract: "End one session of an account, or all of them.",
    discussion: "The person may sign in again. See 'parley admin user suspend'.")

  @OptionGroup var user: UserArgument
  @Option(help: .init("The session, as 'parley admin user sessions' lists it.", valueName: "id")) var session: String?
  @Flag(help: "All sessions.") var all = false
  @OptionGroup var why: ReasonOption
  @OptionGroup var options: TargetOptions

  func validate() throws {
    guard (session != nil) != all else { throw ValidationError("Give --session or --all.") }
  }

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      let response = try await connection.users.revokeUserSessions(
        .init(userID: try await user.identifier(connection), sessionID: session ?? "", reason: why.reason),
        options: .init(deadline: connection.deadline))
      if options.json {
        Console.write(json: ["revoked": .number(JSONNumber(Int(response.count)))])
      } else {
        Console.write(line: "ended \(response.count) session\(response.count == 1 ? "" : "s")")
      }
    }
  }
}
