import ArgumentParser
import EventLoop
import JSON
import ParleyAPI
import RPC

/// `parley audit`: what was done, of one person or of all.
struct AuditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "List what was done with accounts, cloud tokens and kill switches, the latest first.",
    discussion: """
      For operators, as 'parley admin' says. Actions: signed_in, refresh_refused, session_ended, profile_changed, \
      account_suspended, account_reinstated, token_exchange, capability_stopped, capability_resumed, …

      With --follow entries are printed as they come, the oldest first, until Ctrl-C; with --json each is a line.
      """)

  @Option(help: .init("Of this person: an identifier, google:<sub>, apple:<sub>, or an e-mail address.", valueName: "user"))
  var user: UserReference?
  @Option(help: .init("The app of google:<sub> and apple:<sub>; else the default one.", valueName: "name")) var app = ""
  @Option(help: "What was done.") var action = ""
  @Option(help: "How it ended: done, refused or failed.") var outcome = ""
  @Option(help: .init("Why, as a reason code.", valueName: "code")) var reason = ""
  @Option(help: .init("Then or later: 2026-01-31, 2026-01-31T12:00:00Z, or 90m, 12h, 7d ago.", valueName: "time"))
  var since: TimeArgument?
  @Option(help: .init("Before.", valueName: "time")) var until: TimeArgument?
  @Option(help: "How many at most.") var limit = 50
  @Flag(help: "Go on and print what is done from now on.") var follow = false
  @OptionGroup var options: TargetOptions

  func validate() throws {
    guard limit > 0 else { throw ValidationError("--limit is 1 or more.") }
    guard !follow || until == nil else { throw ValidationError("--follow has no end: leave --until out.") }
  }

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      let wanted = ListAuditRequest(
        userID: try await user?.identifier(app: app, connection) ?? "", action: action, outcome: outcome, reason: reason,
        since: since?.timestamp, until: until?.timestamp)
      let entries = try await Self.entries(wanted, atMost: limit, connection)
      guard follow else {
        if options.json {
          return Console.write(json: ["entries": .array(entries.map(AuditReport.json))])
        }
        return Console.write(AuditReport.heading, rows: entries.map(AuditReport.row))
      }
      var tail = AuditTail(entries)
      show(entries.reversed())
      while true {
        try await connection.loop.sleep(for: AuditTail.pause)
        var request = wanted
        request.since = tail.since ?? wanted.since
        show(tail.news(in: try await Self.entries(request, atMost: .max, connection)))
      }
    }
  }

  private func show(_ entries: [AuditEntry]) {
    for entry in entries {
      if options.json { Console.write(json: AuditReport.json(entry)) } else { Console.write(line: AuditReport.line(entry)) }
    }
  }

  /// All pages of them, up to a number.
  private static func entries(
    _ wanted: ListAuditRequest, atMost limit: Int, _ connection: Connection
  ) async throws -> [AuditEntry] {
    var (request, entries) = (wanted, [AuditEntry]())
    repeat {
      request.pageSize = Int32(min(500, limit - entries.count))
      let response = try await connection.users.listAudit(request, options: .timeout(TargetOptions.defaultTimeout))
      entries += response.entries
      request.pageToken = response.nextPageToken
    } while !request.pageToken.isEmpty && entries.count < limit
    return entries
  }
}
