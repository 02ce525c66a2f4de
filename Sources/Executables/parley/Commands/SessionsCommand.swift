import ArgumentParser
import ClientCore
import JSON
import ParleyAPI
import RPC

/// `parley sessions`: the devices that are signed in to the account.
struct SessionsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sessions", abstract: "List the devices that are signed in to your account, or sign them out.",
    subcommands: [ListSessions.self, RevokeSessions.self], defaultSubcommand: ListSessions.self)
}

/// `parley sessions list`
struct ListSessions: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the devices that are signed in, the last used first; * marks this one.")

  @OptionGroup var options: TargetOptions

  func run() async throws {
    let place = try SessionPlace(options, .current())
    try await Connection.call(options) { connection in
      let auth = place.auth(connection)
      var sessions: [Session] = []
      var page = ""
      repeat {
        let response = try await auth.listSessions(
          .init(pageSize: 100, pageToken: page), options: .init(deadline: connection.deadline))
        sessions += response.sessions
        page = response.nextPageToken
      } while !page.isEmpty
      if options.json {
        Console.write(json: ["sessions": .array(sessions.map(SessionReport.json))])
      } else {
        Console.write(SessionReport.heading, rows: sessions.map(SessionReport.row))
      }
    }
  }
}

/// `parley sessions revoke`
struct RevokeSessions: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "Sign a device out, all others, or all of them.",
    discussion: "Access tokens of a session that has ended are refused within seconds.")

  @Argument(help: .init("The session, as 'parley sessions' lists it.", valueName: "id")) var id: String?
  @Flag(help: "End all sessions but this one.") var others = false
  @Flag(help: "End all sessions, this one as well.") var all = false
  @OptionGroup var options: TargetOptions

  func validate() throws {
    guard [id != nil, others, all].filter({ $0 }).count == 1 else { throw ValidationError("Give an ID, --others or --all.") }
  }

  func run() async throws {
    let place = try SessionPlace(options, .current())
    try await Connection.call(options) { connection in
      let keeper = place.keeper(connection)
      let auth = place.auth(connection)
      let callOptions = CallOptions(deadline: connection.deadline)
      var count = 1
      let own = try await keeper.sessionID()
      if let id {
        _ = try await auth.revokeSession(.init(sessionID: id), options: callOptions)
      } else {
        count = Int(try await auth.revokeSessions(.init(includingCurrent: all), options: callOptions).count)
      }
      // Its tokens are of no use any more.
      if all || (id != nil && id == own) { try place.forget() }
      if options.json {
        Console.write(json: ["revoked": .number(JSONNumber(count))])
      } else {
        Console.write(line: "ended \(count) session\(count == 1 ? "" : "s")")
      }
    }
  }
}
