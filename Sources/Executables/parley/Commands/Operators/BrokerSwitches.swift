import ArgumentParser
import JSON
import ParleyAPI
import RPC

/// `parley admin broker`: who gets cloud tokens.
struct BrokerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "broker", abstract: "Stop the handing out of cloud tokens, to everybody or to one person.",
    discussion: "Tokens that were handed out before stay valid until they run out. Every change is kept, with who made it.",
    subcommands: [StopTokens.self, ResumeTokens.self, ListSwitches.self])
}

/// What a switch is for.
struct SwitchArguments: ParsableArguments {
  @Argument(help: "The capability; 'default' for the token of apps that name none, '*' for all of them.") var capability = "*"
  @Option(help: .init("For one person alone: google:<sub>, or the hash in log and ledger.", valueName: "person"))
  var subject: SwitchSubject?

  func request(isStopped: Bool, because reason: String) -> SetKillSwitchRequest {
    var request = SetKillSwitchRequest(capability: capability, stopped: isStopped, reason: reason)
    switch subject {
    case .google(let subject): request.subject = subject
    case .hash(let hash): request.subjectHash = hash
    case nil: break
    }
    return request
  }
}

/// A person as the broker knows them.
enum SwitchSubject: ExpressibleByArgument, Sendable {
  /// By what Google calls them.
  case google(String)
  /// By the salted hash of that.
  case hash(String)

  init?(argument: String) {
    if argument.hasPrefix("google:"), argument.utf8.count > "google:".utf8.count {
      self = .google(String(argument.dropFirst("google:".count)))
    } else if argument.utf8.count == 32, argument.allSatisfy({ $0.isHexDigit && !$0.isUppercase }) {
      self = .hash(argument)
    } else {
      return nil
    }
  }
}

/// `parley admin broker stop`
struct StopTokens: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stop", abstract: "Hand out no tokens until they are resumed, on every copy at once.")

  @OptionGroup var what: SwitchArguments
  @OptionGroup var why: ReasonOption
  @OptionGroup var options: TargetOptions

  func run() async throws {
    try await SwitchReport.set(what.request(isStopped: true, because: why.reason), options)
  }
}

/// `parley admin broker resume`
struct ResumeTokens: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume", abstract: "Hand out tokens again.",
    discussion: "A person who was stopped is resumed by the same --subject; what is stopped for everybody stays so.")

  @OptionGroup var what: SwitchArguments
  @OptionGroup var why: ReasonOption
  @OptionGroup var options: TargetOptions

  func run() async throws {
    try await SwitchReport.set(what.request(isStopped: false, because: why.reason), options)
  }
}

/// `parley admin broker switches`
struct ListSwitches: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "switches", abstract: "List what was ever stopped, and whether it still is.")

  @OptionGroup var options: TargetOptions

  func run() async throws {
    try await Connection.call(asOperator: options) { connection in
      let switches = try await connection.brokerAdmin.getKillSwitches(options: .init(deadline: connection.deadline)).killSwitches
      if options.json {
        Console.write(json: ["switches": .array(switches.map(SwitchReport.json))])
      } else {
        Console.write(SwitchReport.heading, rows: switches.map(SwitchReport.row))
      }
    }
  }
}

/// Switches as operators see them, for people and for programs.
enum SwitchReport {
  static let heading = ["CAPABILITY", "FOR", "STATE", "SINCE", "BY", "BECAUSE"]

  static func set(_ request: SetKillSwitchRequest, _ options: TargetOptions) async throws {
    try await Connection.call(asOperator: options) { connection in
      let response = try await connection.brokerAdmin.setKillSwitch(request, options: .init(deadline: connection.deadline))
      let found = response.killSwitch ?? .init()
      if options.json {
        Console.write(json: json(found))
      } else {
        let person = found.subjectHash.isEmpty ? "everybody" : Printable.text(found.subjectHash)
        Console.write(line: "\(found.stopped ? "stopped" : "resumed") \(Printable.text(found.capability)) for \(person)")
      }
    }
  }

  static func row(_ found: KillSwitch) -> [String] {
    [
      found.capability, found.subjectHash.isEmpty ? "everybody" : found.subjectHash, found.stopped ? "stopped" : "open",
      found.changedAt.map(SessionReport.text) ?? "", found.changedBy, found.reason,
    ].map(Printable.text)
  }

  static func json(_ found: KillSwitch) -> JSONValue {
    [
      "capability": .string(found.capability), "subject_hash": .string(found.subjectHash), "stopped": .bool(found.stopped),
      "changed_at": found.changedAt.map { .string(SessionReport.text($0)) } ?? .null, "changed_by": .string(found.changedBy),
      "reason": .string(found.reason),
    ]
  }
}

extension Connection {
  /// The broker's ledger and switches at the other end.
  var brokerAdmin: BrokerAdminService.Client { .init(channel) }
}
