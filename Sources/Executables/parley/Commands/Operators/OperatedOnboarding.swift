import ArgumentParser
import JSON
import ParleyAPI
import RPC

/// `parley admin onboarding`: what became of people's answers.
struct OperatedOnboardingCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "onboarding", abstract: "See what became of people's answers, and have what failed tried again.",
    discussion: """
      What people said is not shown. A user is named as in 'parley admin user'; for anything but an identifier the target is asked, \
      and the onboarding service is looked for as in 'parley onboarding'.
      """,
    subcommands: [
      ListUnfinishedOnboarding.self, ShowOnboarding.self, RetryTranscription.self, RetryIdentity.self, RetryClone.self,
    ])
}

/// `parley admin onboarding list`
struct ListUnfinishedOnboarding: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List people of whose answers something is not made yet, or failed and may be tried again.")

  @Option(help: "How many people at most.") var limit = 100
  @OptionGroup var service: OnboardingOptions

  func validate() throws {
    guard limit > 0 else { throw ValidationError("--limit is 1 or more.") }
  }

  func run() async throws {
    try await service.asOperator { admin, connection in
      var request = ListUnfinishedRequest()
      var people: [UnfinishedOnboarding] = []
      repeat {
        request.pageSize = Int32(min(100, limit - people.count))
        let response = try await admin.listUnfinished(request, options: .init(deadline: connection.deadline))
        people += response.people
        request.pageToken = response.nextPageToken
      } while !request.pageToken.isEmpty && people.count < limit
      if service.options.json {
        Console.write(json: ["people": .array(people.map { OnboardingReport.json($0) })])
      } else {
        Console.write(OnboardingReport.unfinishedHeading, rows: people.flatMap(OnboardingReport.rows))
      }
    }
  }
}

/// `parley admin onboarding show`
struct ShowOnboarding: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show how far somebody's submission has come, recording by recording.")

  @OptionGroup var user: UserArgument
  @OptionGroup var service: OnboardingOptions

  func run() async throws {
    try await service.asOperator { admin, connection in
      let found = try await admin.inspectOnboarding(
        .init(userID: try await user.identifier(connection)), options: .init(deadline: connection.deadline))
      if service.options.json { return Console.write(json: OnboardingReport.json(found)) }
      var rows = found.submission.map(OnboardingReport.table) ?? [("submission", "none")]
      rows.append(("rounds", "\(found.roundsLeft) left"))
      let sources = found.sources.map { "\($0.fields) \(OnboardingReport.lowered($0.source, "IDENTITY_SOURCE_"))" }
      rows.append(("fields", "\(found.fieldsExtracted)" + (sources.isEmpty ? "" : " (\(sources.joined(separator: ", ")))")))
      if let voice = found.voice {
        let state = OnboardingReport.lowered(voice.state, "VOICE_STATE_")
        rows.append(("voice", voice.failure.isEmpty ? state : "\(state): \(Printable.text(voice.failure))"))
      }
      Console.write(table: rows)
      Console.write(OnboardingReport.clipHeading, rows: found.recordings.map(OnboardingReport.row))
    }
  }
}

/// `parley admin onboarding retry-transcription`
struct RetryTranscription: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry-transcription", abstract: "Have recordings written down again whose words are missing.")

  @OptionGroup var user: UserArgument
  @Flag(help: "Those in which nobody was heard as well.") var silentToo = false
  @OptionGroup var service: OnboardingOptions

  func run() async throws {
    try await service.asOperator { admin, connection in
      let response = try await admin.retryTranscription(
        .init(userID: try await user.identifier(connection), silentToo: silentToo), options: .init(deadline: connection.deadline))
      if service.options.json { return Console.write(json: OnboardingReport.json(response)) }
      Console.write(line: "\(response.recordings) recording\(response.recordings == 1 ? "" : "s") tried again")
    }
  }
}

/// `parley admin onboarding retry-identity`
struct RetryIdentity: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry-identity", abstract: "Have somebody's answers understood once more that were not.")

  @OptionGroup var user: UserArgument
  @OptionGroup var service: OnboardingOptions

  func run() async throws {
    try await service.asOperator { admin, connection in
      let response = try await admin.retryIdentityExtraction(
        .init(userID: try await user.identifier(connection)), options: .init(deadline: connection.deadline))
      if service.options.json { return Console.write(json: OnboardingReport.json(response)) }
      Console.write(line: response.isNew ? "tried again" : "is being done already")
    }
  }
}

/// `parley admin onboarding retry-clone`
struct RetryClone: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry-clone", abstract: "Have a voice made for somebody whose voice could not be made.")

  @OptionGroup var user: UserArgument
  @OptionGroup var service: OnboardingOptions

  func run() async throws {
    try await service.asOperator { admin, connection in
      let response = try await admin.retryVoiceClone(
        .init(userID: try await user.identifier(connection)), options: .init(deadline: connection.deadline))
      if service.options.json { return Console.write(json: OnboardingReport.json(response)) }
      Console.write(line: response.isNew ? "tried again" : "is being done already")
    }
  }
}
