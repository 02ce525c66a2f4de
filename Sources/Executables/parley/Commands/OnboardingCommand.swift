import ArgumentParser
import ClientCore
import JSON
import ParleyAPI
import RPC

/// `parley onboarding`: the answers of whoever is signed in, and what is made of them.
struct OnboardingCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "onboarding", abstract: "Push your answers, see what is made of them and what is known of you.",
    discussion: """
      Needs a sign-in ('parley login'); 'steps' does not. The onboarding service is looked for at --onboarding, \
      PARLEY_ONBOARDING_TARGET, or where 'make run' has started it, else at the target itself.
      """,
    subcommands: [PushOnboarding.self, OnboardingStatus.self, ListOnboardingSteps.self, ShowIdentity.self])
}

/// `parley onboarding push`
struct PushOnboarding: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push", abstract: "Push a stored record of answers, as the app does after payment.",
    discussion: """
      The file is the record that an app keeps (JSON, in camelCase or snake_case), or the body of POST \
      /onboarding/v3/complete with it. Pushing the same file again is safe: it is taken once. Without --watch the command ends when \
      all answers are durable; with it, when the service has done its work.
      """)

  /// How long the request with all answers may take, unless --timeout says otherwise.
  private static let transferTimeout = Duration.seconds(300)

  @Argument(help: "The record.") var file: String?
  @Flag(help: "Push answers to all steps that are made up, with recordings.") var sample = false
  @Option(
    help: .init("With --sample: take the recordings from the files of this folder; else they are tones.", valueName: "folder"))
  var recordings: String?
  @Flag(help: "Follow the service's work to its end.") var watch = false
  @Flag(help: "Send each recording by itself, ahead of the answers.") var upload = false
  @Flag(help: "Agree that a voice is made of the recordings.") var consent = false
  @Option(help: .init("Where the device can be rung.", valueName: "token")) var voipToken: String?
  @OptionGroup var service: OnboardingOptions

  func validate() throws {
    guard (file != nil) != sample else { throw ValidationError("Give a file or --sample.") }
    guard sample || recordings == nil else { throw ValidationError("--recordings goes with --sample.") }
  }

  func run() async throws {
    let stored = try file.map(Self.record(inFile:))
    let samples = try SampleAnswers(folder: recordings)
    try await service.asPerson { channel, connection in
      let record: StoredOnboardingData
      if let stored {
        record = stored
      } else {
        let steps = try await OnboardingService.Client(channel).listSteps(options: .init(deadline: connection.deadline)).steps
        record = try samples.record(steps)
      }
      let entries = MemoryKeyValueStore()
      entries.save(
        record.json.encoded(), as: record.isCompleted == true ? OnboardingStore.completedKey : OnboardingStore.progressKey)
      let push = OnboardingDataPush(
        channel: channel, store: OnboardingStore(entries),
        options: .init(
          uploads: upload ? .always : .whenTooLarge, voiceConsent: consent ? .init(isGiven: true, statement: "parley") : nil,
          transferTimeout: connection.chosenDeadline?.timeLeft ?? Self.transferTimeout))
      Console.note(Printable.text(record.summary))
      let response = try await follow(push)
      if service.options.json { return Console.write(json: OnboardingReport.json(response)) }
      Console.write(table: OnboardingReport.table(response))
    }
  }

  /// Shows the states of a push, to its end or until all answers are durable.
  private func follow(_ push: OnboardingDataPush) async throws -> CompleteResponse {
    var bar = PushBar()
    guard watch else {
      bar.show(.uploading(done: 0, total: 0))
      do {
        let response = try await push.pushToBackend(voipToken: voipToken)
        bar.show(response.submission.map(PushState.analyzing) ?? .complete(response))
        bar.end()
        return response
      } catch let failure as PushFailure {
        bar.show(.failed(failure))
        throw try exit(for: failure)
      }
    }
    for await state in push.push(voipToken: voipToken) {
      bar.show(state)
      switch state {
      case .complete(let response): return response
      case .failed(let failure): throw try exit(for: failure)
      default: break
      }
    }
    throw CancellationError()
  }

  /// How the command ends after a failure: what a service refused is told as of any other command.
  private func exit(for failure: PushFailure) throws -> any Error {
    Console.note("parley: \(failure.advice)")
    if let error = failure.cause as? RPCError { return error }
    guard service.options.json else { return ExitCode(64) }
    Console.note("\(JSONValue.object(["error": ["message": .string(failure.text)]]))")
    return ExitCode(64)
  }

  private static func record(inFile path: String) throws -> StoredOnboardingData {
    let bytes = try StandardInput.read(file: path, limit: 256 << 20)
    do {
      let json = try JSONParser.parse(bytes, options: .init(maximumByteCount: 256 << 20))
      // The body of the request that is made of it is as good.
      var record = try StoredOnboardingData(json["state"]?.object == nil ? json : json["state"] ?? json)
      // Apps that set no flag send nothing but what is complete.
      record.isCompleted = record.isCompleted ?? true
      try record.checkValues()
      return record
    } catch {
      throw ValidationError("'\(path)' is no record of answers: \(error)")
    }
  }
}

/// `parley onboarding status`
struct OnboardingStatus: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Tell what you have answered so far, and how far the work on it has come.")

  @OptionGroup var service: OnboardingOptions

  func run() async throws {
    try await service.asPerson { channel, connection in
      let progress = try await OnboardingService.Client(channel).getProgress(options: .init(deadline: connection.deadline))
      if service.options.json { return Console.write(json: OnboardingReport.json(progress)) }
      let state = progress.state ?? .init()
      Console.write(table: [("answers", "\(state.responses.count)"), ("step", "\(state.currentStep)")])
      if let submission = progress.submission { Console.write(table: OnboardingReport.table(submission)) }
    }
  }
}

/// `parley onboarding steps`
struct ListOnboardingSteps: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "steps", abstract: "List the steps of the catalogue.")

  @Option(help: "The version of the catalogue; the newest without it.") var version: Int32 = 0
  @OptionGroup var service: OnboardingOptions

  func run() async throws {
    try await service.asAnybody { channel, connection in
      let found = try await OnboardingService.Client(channel).listSteps(
        .init(version: version), options: .init(deadline: connection.deadline))
      if service.options.json { return Console.write(json: OnboardingReport.json(found)) }
      Console.write(OnboardingReport.stepHeading, rows: found.steps.map(OnboardingReport.row))
      Console.note("version \(found.version)")
    }
  }
}

/// `parley onboarding identity`
struct ShowIdentity: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "identity", abstract: "Tell what is known of you, and where it comes from.")

  @OptionGroup var service: OnboardingOptions

  func run() async throws {
    try await service.asPerson { channel, connection in
      let found = try await IdentityService.Client(channel).getIdentity(options: .init(deadline: connection.deadline))
      if service.options.json { return Console.write(json: OnboardingReport.json(found)) }
      let identity = found.identity ?? .init()
      var rows = [("name", Printable.text(identity.name)), ("summary", Printable.text(identity.summary))]
      if !identity.failure.isEmpty { rows.append(("failure", Printable.text(identity.failure))) }
      Console.write(table: rows)
      Console.write(OnboardingReport.fieldHeading, rows: identity.fields.map(OnboardingReport.row))
    }
  }
}
