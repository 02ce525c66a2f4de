/// To whom a token is about to be handed out, by what the person's account would be found by. It is looked at and not kept.
public struct TokenHolder: Sendable, Hashable {
  /// Google's identifier of the person.
  public var subject: String
  /// The apps that the token of the person's may be from.
  public var apps: [String]

  /// Somebody.
  public init(subject: String, apps: [String]) {
    self.subject = subject
    self.apps = apps
  }
}
