/// The apps of an installation: at least one, each under its own name.
public struct AppCatalogue: Sendable, Hashable {
  /// Why apps make no catalogue.
  public enum Fault: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is none.
    case empty
    /// The text is no name of an app.
    case name(String)
    /// Two apps have this name.
    case duplicate(String)

    /// What an operator has to change.
    public var description: String {
      switch self {
      case .empty: "at least one app is needed"
      case .name(let name):
        "'\(name)' is no name of an app: a small letter, then at most \(App.maximumNameLength - 1) small letters, digits and hyphens"
      case .duplicate(let name): "the app '\(name)' is named twice"
      }
    }
  }

  /// The apps, in the operator's order.
  public let all: [App]
  private let places: [String: Int]

  /// A catalogue; the first app is the default one.
  public init(_ apps: [App]) throws(Fault) {
    guard !apps.isEmpty else { throw .empty }
    var places: [String: Int] = [:]
    for (place, app) in apps.enumerated() {
      guard App.isName(app.name) else { throw .name(app.name) }
      guard places.updateValue(place, forKey: app.name) == nil else { throw .duplicate(app.name) }
    }
    all = apps
    self.places = places
  }

  /// The app of clients that name none: the first.
  public var `default`: App { all[0] }

  /// The app of that name; the empty name means the ``default`` one. Nil for a name that nobody gave.
  public subscript(name: String) -> App? { name.isEmpty ? self.default : places[name].map { all[$0] } }

  /// Audiences that several apps share for one provider: whoever gets a token in one of these apps can show it in the others.
  public func sharedAudiences(_ provider: IdentityProvider) -> [String] {
    let counts = all.flatMap { Set($0[provider].audiences) }.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    return counts.filter { $0.value > 1 }.keys.sorted()
  }
}
