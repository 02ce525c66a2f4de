import ArgumentParser
import JSON
import ParleyAPI
import RPC

/// `parley whoami`: what the service reads in an ID token, or who is signed in.
struct WhoAmICommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "whoami", abstract: "Show what the service reads in your Google ID token, or who is signed in.",
    discussion: "With an ID token the broker is asked what it reads in it. Without one, 'parley login' has said who you are.")

  @OptionGroup var identity: IDTokenOption
  @OptionGroup var options: TargetOptions

  func run() async throws {
    let local = try LocalSettings.current()
    if !identity.isGiven(local), let place = try? SessionPlace(options, local), place.hasSession {
      return try await showProfile(place)
    }
    let token = try identity.read(local)
    try await Connection.call(options) { connection in
      let claims = try await connection.broker.whoAmI(options: connection.options(bearer: token))
      if options.json { Console.write(json: .object(Self.members(claims))) } else { Console.write(table: Self.rows(claims)) }
    }
  }

  private func showProfile(_ place: SessionPlace) async throws {
    try await Connection.call(options) { connection in
      let profile = try await place.auth(connection).getProfile(options: .init(deadline: connection.deadline)).profile ?? .init()
      if options.json {
        Console.write(json: ProfileReport.json(profile))
      } else {
        Console.write(table: ProfileReport.rows(profile))
      }
    }
  }

  private static func members(_ claims: WhoAmIResponse) -> JSONObject {
    var object: JSONObject = ["sub": .string(claims.sub)]
    object["email"] = claims.email.map(JSONValue.string)
    object["email_verified"] = claims.emailVerified.map(JSONValue.bool)
    object["name"] = claims.name.map(JSONValue.string)
    object["picture"] = claims.picture.map(JSONValue.string)
    object["hd"] = claims.hd.map(JSONValue.string)
    object["iss"] = .string(claims.iss)
    object["aud"] = .string(claims.aud)
    object["exp"] = .number(JSONNumber(claims.exp))
    return object
  }

  private static func rows(_ claims: WhoAmIResponse) -> [(String, String)] {
    let optional = [("e-mail", claims.email), ("name", claims.name), ("picture", claims.picture), ("domain", claims.hd)]
    return [("subject", claims.sub)] + optional.compactMap { name, value in value.map { (name, $0) } } + [
      ("issuer", claims.iss), ("audience", claims.aud), ("expires", "\(claims.exp) (seconds since 1970)"),
    ]
  }
}
