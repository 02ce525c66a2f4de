import ArgumentParser
import JSON

/// Whom the sandbox stands in for when somebody signs in without a real provider.
struct SandboxSignIn: ParsableArguments {
  @Option(help: "With whom to sign in: google or apple.") var provider = SignInProvider.google
  @Option(help: "Who signs in, at the sandbox.") var subject = "ana"
  @Option(help: "The person's e-mail address, at the sandbox.") var email: String?
  @Option(help: .init("For whom the sandbox's token is; else PARLEY_AUDIENCE.", valueName: "client id")) var audience: String?
  @Option(help: .init("The sandbox; else PARLEY_SANDBOX.", valueName: "https://host:port")) var sandbox: String?

  /// Whether there is a sandbox to ask.
  func hasSandbox(_ local: LocalSettings) -> Bool { (sandbox ?? local["PARLEY_SANDBOX"]) != nil }

  /// A token that carries the nonce.
  ///
  /// - Throws: `ValidationError` when the sandbox or the audience is not known.
  func token(_ nonce: String, ca: String?, _ local: LocalSettings) async throws -> String {
    guard let url = sandbox ?? local["PARLEY_SANDBOX"] else {
      throw ValidationError("No token: give --id-token-file and --nonce, or a sandbox with --sandbox or PARLEY_SANDBOX.")
    }
    guard let audience = audience ?? local["PARLEY_AUDIENCE"] else {
      throw ValidationError("No audience: give --audience or set PARLEY_AUDIENCE.")
    }
    var wish: JSONObject = ["aud": .string(audience), "sub": .string(subject), "claims": ["nonce": .string(nonce)]]
    wish["email"] = email.map(JSONValue.string)
    let (asked, provider) = (wish, provider)
    return try await Outside.run(caFile: ca ?? local["PARLEY_CA_FILE"]) { outside in
      let sandbox = SandboxControl(url: url, outside: outside)
      return try await sandbox.idToken(asked, of: provider == .google ? .google : .apple)
    }
  }
}
