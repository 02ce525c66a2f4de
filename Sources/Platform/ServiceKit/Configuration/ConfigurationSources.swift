internal import Glibc

/// Something that may hold the text of a setting.
protocol ConfigurationSource: Sendable {
  /// The text that is given here for a key, and what it is called in reports; nil when nothing is.
  func find(_ key: any ConfigurationKeyDeclaration) throws(SourceError) -> (text: String, source: String)?
}

/// A source that holds something for a key, which cannot be used.
struct SourceError: Error {
  let source: String
  let message: String
}

/// The settings given on the command line: `--set key=value` and `--key value`.
struct FlagSource: ConfigurationSource {
  /// By the dotted name of the key.
  let values: [String: String]

  func find(_ key: any ConfigurationKeyDeclaration) -> (text: String, source: String)? {
    values[key.name].map { ($0, "flag \(key.name)") }
  }
}

/// The settings given in the environment, by a key's own variable, by `<VARIABLE>_FILE`, or by an alias of either form.
///
/// The key's own name comes before its aliases. An empty variable counts as absent.
struct EnvironmentSource: ConfigurationSource {
  private let environment: [String: String]
  private let prefix: String
  private let own: Set<String>

  /// The most bytes that a file with a value may have.
  static let maximumFileBytes = 1 << 20

  /// Reads `keys` from `environment`, in which a service's own variables begin with `prefix` (`PARLEY_AUTH_`).
  init(_ environment: [String: String], prefix: String, keys: [any ConfigurationKeyDeclaration]) {
    self.environment = environment
    self.prefix = prefix
    own = Set(keys.map { prefix + $0.variable })
  }

  func find(_ key: any ConfigurationKeyDeclaration) throws(SourceError) -> (text: String, source: String)? {
    if let found = try find(prefix + key.variable) { return found }
    for alias in key.aliases {
      if let found = try find(alias.variable) { return (alias.convert(found.text), found.source) }
    }
    return nil
  }

  /// Variables that begin as the service's do and belong to no key.
  func unknownVariables(besides others: [any ConfigurationKeyDeclaration]) -> [String] {
    let names = own.union(others.map { prefix + $0.variable })
    let known = names.union(names.map { $0 + "_FILE" })
    return environment.keys.filter {
      $0.hasPrefix(prefix) && !known.contains($0) && !ServiceLink.isOne($0.dropFirst(prefix.count), environment[$0] ?? "")
    }.sorted()
  }

  private func find(_ variable: String) throws(SourceError) -> (text: String, source: String)? {
    let direct = environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    let fileVariable = variable + "_FILE"
    // A key may itself be called SOMETHING_FILE; then it is not the file of another.
    let file = own.contains(fileVariable) ? nil : environment[fileVariable].flatMap { $0.isEmpty ? nil : $0 }
    if direct != nil && file != nil {
      throw SourceError(source: variable, message: "given twice, here and by \(fileVariable); leave one out")
    }
    if let direct { return (direct, variable) }
    guard let file else { return nil }
    let text = try Self.read(file, for: fileVariable)
    return text.isEmpty ? nil : (text, "\(fileVariable)=\(file)")
  }

  private static func read(_ path: String, for variable: String) throws(SourceError) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw SourceError(source: variable, message: "the file \(path) cannot be read: \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else {
        throw SourceError(source: variable, message: "the file \(path) cannot be read: \(String(cString: strerror(errno)))")
      }
      if count == 0 { break }
      bytes += chunk[..<count]
      guard bytes.count <= maximumFileBytes else {
        throw SourceError(source: variable, message: "the file \(path) has more than \(maximumFileBytes) bytes")
      }
    }
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw SourceError(source: variable, message: "the file \(path) is not UTF-8")
    }
    return text
  }
}
