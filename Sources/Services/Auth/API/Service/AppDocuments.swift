internal import AuthDomain
internal import JSON

/// What the operator says of apps: a JSON object with a member for each app, by its name.
///
/// ```json
/// {"default": {"brand": "Parley",
///              "google": {"audiences": ["web.apps.googleusercontent.com"], "nonce": "raw"},
///              "apple": {"audiences": ["org.example.parley"], "nonce": "sha256"},
///              "limits": {"signIn": {"perMinute": 30, "burst": 10}, "refresh": {"perMinute": 6, "burst": 4}}}}
/// ```
/// It is read strictly: a misspelt member is a mistake of the operator and not one of nature.
struct AppDocuments {
  /// What is wrong with it; the texts name places, and never show a value.
  struct Fault: Error, CustomStringConvertible {
    let description: String
  }

  /// The names it has something to say of, in its order.
  let names: [String]
  private let documents: JSONObject

  init(parsing text: String) throws(Fault) {
    let value: JSONValue
    do { value = try JSONParser.parse(Array(text.utf8)) } catch { throw Fault(description: "not JSON: \(error)") }
    guard let object = value.object else { throw Fault(description: "not a JSON object with a member for each app") }
    documents = object
    names = object.map(\.name)
    for name in names { _ = try app(name) }
  }

  /// Nothing is said of any app.
  init() { (names, documents) = ([], [:]) }

  /// The app of that name, as far as its document says; an app without a document has no audiences.
  func app(_ name: String) throws(Fault) -> App {
    guard let value = documents[name] else { return App(name: name) }
    let part = try Part(name, value, allowing: ["brand", "google", "apple", "limits"])
    var app = App(name: name)
    if let brand = try part.text("brand") { app.brand = brand }
    app.google = try provider(part, "google", otherwise: app.google)
    app.apple = try provider(part, "apple", otherwise: app.apple)
    if let limits = try part.part("limits", allowing: ["signIn", "refresh"]) {
      app.limits = App.Limits(signIn: try limit(limits, "signIn"), refresh: try limit(limits, "refresh"))
    }
    return app
  }

  private func provider(_ app: Part, _ name: String, otherwise: App.Provider) throws(Fault) -> App.Provider {
    guard let part = try app.part(name, allowing: ["audiences", "nonce"]) else { return otherwise }
    var provider = otherwise
    if let audiences = try part.texts("audiences") { provider.audiences = audiences }
    if let form = try part.text("nonce") {
      guard let form = NonceForm(rawValue: form) else {
        throw part.fault("nonce", "one of \(NonceForm.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      provider.nonceForm = form
    }
    return provider
  }

  private func limit(_ limits: Part, _ name: String) throws(Fault) -> RateLimit? {
    guard let part = try limits.part(name, allowing: ["perMinute", "burst"]) else { return nil }
    return RateLimit(perMinute: try part.count("perMinute"), burst: try part.count("burst"))
  }

  /// One object of the document, with its place for messages.
  private struct Part {
    let place: String
    let members: JSONObject

    init(_ place: String, _ value: JSONValue, allowing names: Set<String>) throws(Fault) {
      guard let object = value.object else { throw Fault(description: "\(place) is not an object") }
      (self.place, members) = (place, object)
      for member in object where !names.contains(member.name) {
        throw Fault(
          description: "\(place) has an unknown member '\(member.name)'; known are \(names.sorted().joined(separator: ", "))")
      }
    }

    func fault(_ name: String, _ expectation: String) -> Fault {
      Fault(description: "\(place).\(name) is not \(expectation)")
    }

    func part(_ name: String, allowing names: Set<String>) throws(Fault) -> Part? {
      guard let value = members[name] else { return nil }
      return try Part("\(place).\(name)", value, allowing: names)
    }

    func text(_ name: String) throws(Fault) -> String? {
      guard let value = members[name] else { return nil }
      guard let text = value.string, !text.isEmpty else { throw fault(name, "a text") }
      return text
    }

    func texts(_ name: String) throws(Fault) -> [String]? {
      guard let value = members[name] else { return nil }
      guard let elements = value.array, elements.allSatisfy({ $0.string?.isEmpty == false }) else {
        throw fault(name, "a list of texts")
      }
      return elements.compactMap(\.string)
    }

    func count(_ name: String) throws(Fault) -> Int {
      guard let number = members[name]?.int64, (1...1_000_000).contains(number) else {
        throw fault(name, "a whole number from 1 to 1000000")
      }
      return Int(number)
    }
  }
}
