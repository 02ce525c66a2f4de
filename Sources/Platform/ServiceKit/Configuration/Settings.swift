/// The effective settings of a process: every key with its value and where that came from. Made once, at the start.
///
/// Sources in order: flags, the environment (with `_FILE` and aliases), the key's default.
public struct Settings: Sendable {
  /// One key with its value.
  public struct Entry: Sendable {
    /// The key.
    public let key: any ConfigurationKeyDeclaration
    /// The variable of the environment that sets it.
    public let variable: String
    /// The value as text; never shown for a secret key.
    let text: String
    /// Where the value came from: `--set listen`, a variable, `VARIABLE_FILE=path`, or `default`.
    public let source: String
    let value: any Sendable

    /// The value as it may be shown: a default is no secret.
    public var shown: String {
      (key.isSecret || source.contains("_FILE=")) && !text.isEmpty && source != "default" ? "(hidden)" : text
    }
  }

  /// The service's name, as in `parley-<service>`.
  public let service: String
  /// Every key with its value, in the order of declaration.
  public let entries: [Entry]
  /// Variables that begin as the service's do and belong to no key, where that is let pass (``StandardKeys/lenientEnvironment``).
  let ignoredVariables: [String]
  private let values: [String: any Sendable]

  /// Finds a value for every key.
  ///
  /// - Parameters:
  ///   - service: The service's name: `auth`.
  ///   - keys: The service's own keys before the standard ones; of several with one name the first counts.
  ///   - flags: What the command line says, by dotted name or by variable (`LISTEN`).
  ///   - environment: The environment of the process.
  ///   - others: Keys that the service has too and that are not read here.
  /// - Throws: ``ConfigurationError`` with everything that is wrong.
  public init(
    service: String, keys: [any ConfigurationKeyDeclaration], flags: [String: String] = [:], environment: [String: String],
    others: [any ConfigurationKeyDeclaration] = []
  ) throws(ConfigurationError) {
    let keys = Self.withoutRepetition(keys)
    let prefix = Self.prefix(service)
    var problems: [ConfigurationError.Problem] = []
    let flags = FlagSource(values: Self.resolve(flags, keys + [StandardKeys.lenientEnvironment], prefix, &problems))
    let variables = EnvironmentSource(environment, prefix: prefix, keys: keys)
    let sources: [any ConfigurationSource] = [flags, variables]
    let unknown = variables.unknownVariables(
      besides: others + [StandardKeys.databaseAdminURL, StandardKeys.lenientEnvironment])
    let isLenient = Self.isLenient(sources, prefix, keys, &problems)
    if !isLenient { problems += Self.strangers(unknown, keys, prefix) }
    var entries: [Entry] = []
    for key in keys {
      do throws(ProblemFound) { entries.append(try Self.entry(key, prefix + key.variable, sources)) } catch {
        problems.append(error.problem)
      }
    }
    guard problems.isEmpty else { throw ConfigurationError(problems) }
    self.service = service
    self.entries = entries
    ignoredVariables = isLenient ? unknown : []
    values = Dictionary(uniqueKeysWithValues: entries.map { ($0.key.name, $0.value) })
  }

  /// The value of a key. Asking for one that was not declared is a programmer's mistake.
  public subscript<Value: ConfigurationValue>(key: ConfigurationKey<Value>) -> Value {
    guard let value = values[key.name] else { preconditionFailure("the key '\(key.name)' is not declared by \(service)") }
    guard let typed = value as? Value else { preconditionFailure("the key '\(key.name)' is declared with another type") }
    return typed
  }

  /// What a service's variables begin with: `PARLEY_AUTH_`.
  static func prefix(_ service: String) -> String { "PARLEY_\(service.uppercased().replacing("-", with: "_"))_" }

  // MARK: Finding

  private struct ProblemFound: Error { let problem: ConfigurationError.Problem }

  private static func withoutRepetition(_ keys: [any ConfigurationKeyDeclaration]) -> [any ConfigurationKeyDeclaration] {
    var seen: Set<String> = []
    return keys.filter { seen.insert($0.name).inserted }
  }

  private static func entry(
    _ key: any ConfigurationKeyDeclaration, _ variable: String, _ sources: [any ConfigurationSource]
  ) throws(ProblemFound) -> Entry {
    func problem(_ source: String?, _ message: String) -> ProblemFound {
      ProblemFound(problem: .init(key: key.name, variable: variable, source: source, message))
    }
    for source in sources {
      let found: (text: String, source: String)?
      do { found = try source.find(key) } catch { throw problem(error.source, error.message) }
      guard let (text, source) = found else { continue }
      switch key.read(text) {
      case .value(let value, let text): return Entry(key: key, variable: variable, text: text, source: source, value: value)
      case .refused(let expected):
        // What a file holds may be secret by mistake: a path given as the file that it names.
        let isHidden = key.isSecret || source.contains("_FILE=")
        throw problem(source, "expected \(expected)" + (isHidden ? " (the value is hidden)" : ", got '\(text.prefix(200))'"))
      }
    }
    guard let value = key.boxedDefault, let text = key.defaultText else {
      throw problem(nil, "must be set: \(key.documentation) Expected \(key.expectation)")
    }
    return Entry(key: key, variable: variable, text: text, source: "default", value: value)
  }

  /// Flags may name a key by its dotted name, by its own part of the variable, or by the whole variable.
  private static func resolve(
    _ flags: [String: String], _ keys: [any ConfigurationKeyDeclaration], _ prefix: String,
    _ problems: inout [ConfigurationError.Problem]
  ) -> [String: String] {
    var values: [String: String] = [:]
    for (given, text) in flags.sorted(by: { $0.key < $1.key }) {
      let key = keys.first { [$0.name, $0.variable, prefix + $0.variable, $0.flag].contains(given) }
      guard let key else {
        let near = nearest(given, keys.map(\.name))
        problems.append(
          .init(key: nil, variable: "--set \(given)", "there is no such key" + (near.map { "; did you mean \($0)?" } ?? "")))
        continue
      }
      values[key.name] = text
    }
    return values
  }

  /// Whether unknown variables are let pass: asked for whichever keys are read, since every command meets the same environment.
  private static func isLenient(
    _ sources: [any ConfigurationSource], _ prefix: String, _ keys: [any ConfigurationKeyDeclaration],
    _ problems: inout [ConfigurationError.Problem]
  ) -> Bool {
    let key = StandardKeys.lenientEnvironment
    do throws(ProblemFound) { return try entry(key, prefix + key.variable, sources).value as? Bool ?? false } catch {
      // Where it is among the keys it is told with them.
      if !keys.contains(where: { $0.name == key.name }) { problems.append(error.problem) }
      return false
    }
  }

  private static func strangers(
    _ variables: [String], _ keys: [any ConfigurationKeyDeclaration], _ prefix: String
  ) -> [ConfigurationError.Problem] {
    let known = keys.map { prefix + $0.variable }
    return variables.map { variable in
      let near = nearest(variable, known)
      return .init(
        key: nil, variable: variable, source: "the environment",
        "there is no such setting" + (near.map { "; did you mean \($0)?" } ?? "")
          + "; if it is one of a newer version, --lenient-environment lets it pass")
    }
  }

  /// The known name that is at most two changes of a letter away.
  private static func nearest(_ name: String, _ known: [String]) -> String? {
    known.map { ($0, distance(Array($0.utf8), Array(name.utf8))) }.filter { $0.1 <= 2 }.min { $0.1 < $1.1 }?.0
  }

  /// Levenshtein's distance.
  private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var row = Array(0...right.count)
    for (i, a) in left.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, b) in right.enumerated() {
        let substituted = diagonal + (a == b ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(substituted, diagonal + 1, row[j] + 1)
      }
    }
    return row[right.count]
  }
}
