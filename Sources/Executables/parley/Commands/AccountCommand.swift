import ArgumentParser
import ClientCore
import JSON
import ParleyAPI
import RPC

/// `parley account`: all that is kept of a person.
struct AccountCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "account", abstract: "Take all that is kept of you along, or have it deleted.",
    discussion: """
      Export and deletion need a sign-in of the last minutes. With the sandbox it is made by itself, as whoever --subject names; \
      otherwise run 'parley login' again before.
      """,
    subcommands: [ExportAccount.self, DeleteAccount.self, ReportAccount.self])

  /// How long a command follows work that is under way, unless --timeout says otherwise.
  static let patience = Duration.seconds(600)
}

/// `parley account export`
struct ExportAccount: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Download all that the services keep of you.",
    discussion: "Each document becomes a file <folder>/<service>/<document>, readable by you alone. Its hash is checked.")

  @Argument(help: "The folder to write to; it must not be there yet.") var folder: String
  @Option(help: .init("Go on with an export that was begun before.", valueName: "id")) var work: String?
  @OptionGroup var person: SandboxSignIn
  @OptionGroup var options: TargetOptions

  func run() async throws {
    let local = try LocalSettings.current()
    let place = try SessionPlace(options, local)
    try await Connection.call(options) { connection in
      let account = AccountSession(place, connection, person, ca: options.ca, local)
      let deadline = connection.chosenDeadline ?? .after(AccountCommand.patience)
      var id = work ?? ""
      if id.isEmpty { id = try await account.steppingUp { try await account.client.startExport().id } }
      var progress = WorkProgress()
      let done = try await progress.follow(until: deadline) { [id] in try await account.client.work(id) }
      guard done.state == .done else {
        Console.note("parley: the export is \(WorkReport.state(done)); go on with --work \(id)")
        throw ExitCode(done.state == .running ? 69 : 1)
      }
      let target = try ExportFolder(folder)
      // A step-up may be asked for before the first byte, and never after it.
      _ = try await account.steppingUp { try await account.client.download(id) { try target.write($0) } }
      guard options.json else {
        Console.write(["DOCUMENT", "BYTES"], rows: target.documents.map { [$0.name, "\($0.size)"] })
        return Console.note("\(target.documents.count) documents in \(folder)")
      }
      Console.write(json: [
        "work": WorkReport.json(done), "folder": .string(folder),
        "documents": .array(target.documents.map { ["name": .string($0.name), "size": .number(JSONNumber($0.size))] }),
      ])
    }
  }
}

/// `parley account delete`
struct DeleteAccount: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Delete your account and all that the services keep of you.",
    discussion: """
      All devices are signed out at once. The receipt that is printed is the only way to ask how far the deletion has come \
      ('parley account report'): it is not shown again.
      """)

  @Flag(help: "Do it without being asked whether you mean it.") var yes = false
  @Flag(help: "Do not wait until it is done.") var noWait = false
  @OptionGroup var person: SandboxSignIn
  @OptionGroup var options: TargetOptions

  func run() async throws {
    let local = try LocalSettings.current()
    let place = try SessionPlace(options, local)
    if !yes {
      Console.note("This deletes your account and all that is kept of you, for good. Type 'delete' to go on:")
      guard readLine() == "delete" else {
        Console.note("nothing was done")
        throw ExitCode(64)
      }
    }
    try await Connection.call(options) { connection in
      let account = AccountSession(place, connection, person, ca: options.ca, local)
      let (receipt, begun) = try await account.steppingUp { try await account.client.deleteAccount() }
      // Its tokens are of no use any more.
      try place.forget()
      if !options.json { Console.write(table: [("receipt", receipt), ("work", begun.id)]) }
      var work = begun
      if !noWait {
        var progress = WorkProgress()
        let stranger = AccountClient(channel: connection.channel)
        work = try await progress.follow(until: connection.chosenDeadline ?? .after(AccountCommand.patience)) {
          try await stranger.report(receipt: receipt)
        }
      }
      if options.json { return Console.write(json: ["receipt": .string(receipt), "work": WorkReport.json(work)]) }
      Console.write(line: "state    \(WorkReport.state(work))")
      Console.write(WorkReport.heading, rows: WorkReport.rows(work))
    }
  }
}

/// `parley account report`
struct ReportAccount: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Tell how far an export or a deletion has come.",
    discussion: "A deletion is asked for with its receipt, which needs no sign-in; an export by its name.")

  @Option(help: .init("The receipt of a deletion; '@file' or '-' keep it off the command line.", valueName: "receipt"))
  var receipt: SecretArgument?
  @Option(help: .init("The export or deletion.", valueName: "id")) var work: String?
  @OptionGroup var options: TargetOptions

  func validate() throws {
    guard (receipt == nil) != (work == nil) else { throw ValidationError("Give --receipt or --work.") }
  }

  func run() async throws {
    let secret = try receipt?.read()
    let place = secret == nil ? try SessionPlace(options, .current()) : nil
    try await Connection.call(options) { connection in
      let found: AccountWork
      if let secret {
        found = try await AccountClient(channel: connection.channel).report(receipt: secret)
      } else if let place {
        let channel = SessionChannel(connection.channel, keeper: place.keeper(connection))
        found = try await AccountClient(channel: channel).work(work ?? "")
      } else {
        return
      }
      if options.json { return Console.write(json: ["work": WorkReport.json(found)]) }
      Console.write(line: "state    \(WorkReport.state(found))")
      Console.write(WorkReport.heading, rows: WorkReport.rows(found))
    }
  }
}
