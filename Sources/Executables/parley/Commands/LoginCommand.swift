import ArgumentParser
import ClientCore
import JSON
import ParleyAPI
import RPC

/// `parley login`: signs in and keeps the session for the commands that follow.
struct LoginCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "login",
    abstract: "Sign in with Google or Apple and stay signed in.",
    discussion: """
      Without a token the sandbox signs in whoever --subject names. With a token of a real sign-in there are two steps: \
      'parley login --begin' prints the nonces, the provider signs a token that carries 'provider nonce', and 'parley login \
      --id-token-file … --nonce …' takes it.

      The session's tokens are kept in $XDG_STATE_HOME/parley or ~/.local/state/parley, a file for each target, readable by you alone.
      """)

  @Flag(help: "Print a nonce for a sign-in elsewhere, and nothing more.") var begin = false
  @Option(help: .init("The provider's token; '-' for standard input.", valueName: "file")) var idTokenFile: String?
  @Option(help: "The nonce that the token was made with, as --begin printed it.") var nonce: String?
  @OptionGroup var person: SandboxSignIn
  @Option(help: "The app, by the name that the operator gave it.") var app = ""
  @Option(help: "What to call this device.") var device = "parley command line"
  @OptionGroup var options: TargetOptions

  func validate() throws {
    if begin && (idTokenFile != nil || nonce != nil) {
      throw ValidationError("--begin is the first step: it takes no token and no nonce.")
    }
    if (idTokenFile == nil) != (nonce == nil) { throw ValidationError("--id-token-file and --nonce belong together.") }
  }

  func run() async throws {
    let local = try LocalSettings.current()
    let token = try idTokenFile.map { try SecretArgument(argument: $0 == "-" ? "-" : "@\($0)")?.read() ?? "" }
    let place = try SessionPlace(options, local)
    try await Connection.call(options) { connection in
      let keeper = place.keeper(connection, app: app)
      if begin { return try await show(keeper.beginSignIn(with: person.provider.provider)) }
      let signedIn: SessionKeeper.SignedIn
      if let token, let nonce {
        signedIn = try await signIn(keeper, token, nonce)
      } else {
        let challenge = try await keeper.beginSignIn(with: person.provider.provider)
        signedIn = try await signIn(
          keeper, try await person.token(challenge.providerNonce, ca: options.ca, local), challenge.nonce)
      }
      let session = try await keeper.sessionID() ?? ""
      guard options.json else {
        return Console.write(
          table: ProfileReport.rows(signedIn.profile) + [
            ("session", session), ("new account", signedIn.isNewAccount ? "yes" : "no"),
          ])
      }
      Console.write(json: [
        "profile": ProfileReport.json(signedIn.profile), "session_id": .string(session),
        "is_new_account": .bool(signedIn.isNewAccount),
      ])
    }
  }

  private func signIn(_ keeper: SessionKeeper, _ token: String, _ nonce: String) async throws -> SessionKeeper.SignedIn {
    let device = Device(name: device, platform: "Linux", appVersion: Version.text)
    return switch person.provider {
    case .google: try await keeper.signIn(google: token, nonce: nonce, device: device)
    case .apple: try await keeper.signIn(apple: token, nonce: nonce, device: device)
    }
  }

  private func show(_ challenge: BeginSignInResponse) {
    let form = challenge.form == .sha256 ? "sha256" : "raw"
    guard options.json else {
      return Console.write(table: [("nonce", challenge.nonce), ("provider nonce", challenge.providerNonce), ("form", form)])
    }
    Console.write(json: [
      "nonce": .string(challenge.nonce), "provider_nonce": .string(challenge.providerNonce), "form": .string(form),
    ])
  }
}

/// The providers by the names that people type.
enum SignInProvider: String, ExpressibleByArgument, CaseIterable {
  case google, apple

  var provider: IdentityProvider { self == .google ? .google : .apple }
}
