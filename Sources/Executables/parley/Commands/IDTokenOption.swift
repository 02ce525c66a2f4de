import ArgumentParser

/// Who is asking: a Google ID token from the command line or the environment.
struct IDTokenOption: ParsableArguments {
  @Option(
    name: [.customLong("id-token"), .customLong("bearer")],
    help: .init("The Google ID token, @file, or '-' for standard input; else PARLEY_ID_TOKEN.", valueName: "token"))
  var token: SecretArgument?

  /// Whether there is one.
  func isGiven(_ local: LocalSettings) -> Bool { token != nil || local["PARLEY_ID_TOKEN"] != nil }

  /// The token.
  func read(_ local: LocalSettings) throws -> String {
    if let token { return try token.read() }
    guard let text = local["PARLEY_ID_TOKEN"], let argument = SecretArgument(argument: text) else {
      throw ValidationError(
        "No ID token: give --id-token, set PARLEY_ID_TOKEN, or make one for the sandbox with 'parley id-token'.")
    }
    return try argument.read()
  }
}
