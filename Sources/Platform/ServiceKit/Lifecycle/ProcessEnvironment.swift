internal import CShims

/// The variables that the process was started with.
enum ProcessEnvironment {
  /// All of them; of two with one name the first counts, as for getenv(3).
  static var all: [String: String] {
    var variables: [String: String] = [:]
    guard var next = parley_environment() else { return [:] }
    while let entry = next.pointee {
      let text = String(cString: entry)
      if let equals = text.firstIndex(of: "=") {
        let name = String(text[..<equals])
        if variables[name] == nil { variables[name] = String(text[text.index(after: equals)...]) }
      }
      next += 1
    }
    return variables
  }
}
