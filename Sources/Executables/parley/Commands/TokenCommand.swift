import ArgumentParser
import JSON
import ParleyAPI
import RPC

/// `parley token`: trades an ID token for a cloud token.
struct TokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Trade a Google ID token for a short-lived cloud token.",
    discussion: "The token itself is printed with --raw or --json only; otherwise its beginning and its life.")

  @OptionGroup var identity: IDTokenOption
  @Option(help: "What the token is for; the operator sets up capabilities by name.") var capability = ""
  @Flag(help: "Print the token and nothing else.") var raw = false
  @OptionGroup var options: TargetOptions

  func validate() throws {
    if raw && options.json { throw ValidationError("--raw and --json exclude each other.") }
  }

  func run() async throws {
    let token = try identity.read(.current())
    try await Connection.call(options) { connection in
      let response = try await connection.broker.exchangeToken(
        .init(capability: capability), options: connection.options(bearer: token))
      if raw { return Console.write(line: response.accessToken) }
      guard options.json else {
        return Console.write(table: [
          ("token", "\(Mask.token(response.accessToken)) (--raw prints it)"), ("type", response.tokenType),
          ("expires in", "\(response.expiresIn) s"),
        ])
      }
      Console.write(json: [
        "access_token": .string(response.accessToken), "token_type": .string(response.tokenType),
        "expires_in": .number(JSONNumber(Int(response.expiresIn))),
      ])
    }
  }
}
