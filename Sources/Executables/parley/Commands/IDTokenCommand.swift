import ArgumentParser
import JSON

/// `parley id-token`: an ID token of the sandbox, for trying things out.
struct IDTokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "id-token",
    abstract: "Get an ID token from the sandbox, for trying things out.",
    discussion: """
      The sandbox signs for anybody; only services that were told to trust it accept the token. It needs a sandbox that runs:
      'make run' starts one.
      """)

  @Option(help: "Who vouches: google or apple.") var provider = SandboxProvider.google
  @Option(help: "Whose token it is.") var subject: String
  @Option(help: "For whom it is; else PARLEY_AUDIENCE.") var audience: String?
  @Option(help: "The person's e-mail address.") var email: String?
  @Option(help: "The nonce of the sign-in, in the form that the app has with the provider.") var nonce: String?
  @Option(help: "Seconds that it is valid; negative for one that has expired.") var expiresIn = 3600
  @Option(help: .init("The sandbox; else PARLEY_SANDBOX.", valueName: "https://host:port")) var sandbox: String?
  @Option(help: .init("Trust the certificates in this PEM file; else PARLEY_CA_FILE.", valueName: "file")) var ca: String?

  func run() async throws {
    let local = try LocalSettings.current()
    guard let url = sandbox ?? local["PARLEY_SANDBOX"] else {
      throw ValidationError("No sandbox: give --sandbox, set PARLEY_SANDBOX, or start one with 'make run'.")
    }
    guard let audience = audience ?? local["PARLEY_AUDIENCE"] else {
      throw ValidationError("No audience: give --audience or set PARLEY_AUDIENCE.")
    }
    try await Outside.run(caFile: ca ?? local["PARLEY_CA_FILE"]) { outside in
      let sandbox = SandboxControl(url: url, outside: outside)
      var wish: JSONObject = ["aud": .string(audience), "sub": .string(subject), "expiresIn": .number(JSONNumber(expiresIn))]
      wish["email"] = email.map(JSONValue.string)
      wish["nonce"] = nonce.map(JSONValue.string)
      Console.write(line: try await sandbox.idToken(wish, of: provider))
    }
  }
}

extension SandboxProvider: ExpressibleByArgument {}
