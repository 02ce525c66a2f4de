import ArgumentParser
import ClientCore
import JSON

/// `parley logout`: ends the session of the command line.
struct LogoutCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "logout", abstract: "End the session that 'parley login' began.",
    discussion: "The tokens here are gone in any case. When the service cannot be told, the exit code is 69.")

  @OptionGroup var options: TargetOptions

  func run() async throws {
    let place = try SessionPlace(options, .current())
    guard place.hasSession else {
      if options.json { Console.write(json: ["signed_out": false]) } else { Console.write(line: "nobody was signed in") }
      return
    }
    try await Connection.call(options) { connection in
      let isKnown = await place.keeper(connection).signOut()
      if options.json {
        Console.write(json: ["signed_out": true, "service_knows": .bool(isKnown)])
      } else {
        Console.write(line: "signed out")
      }
      guard !isKnown else { return }
      Console.note("parley: the service could not be told; it ends the session when it is not used any more")
      throw ExitCode(69)
    }
  }
}
