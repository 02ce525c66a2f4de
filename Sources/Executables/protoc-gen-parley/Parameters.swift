/// What `--parley_opt=` says, as `Key=value` pairs separated by commas.
struct Parameters {
  /// The access level of what is generated.
  var visibility = "public"
  /// The Swift module that the files of this run become part of.
  var module = ""
  /// Where types of other packages live: the longest package prefix wins.
  var modules: [(package: String, module: String)] = []

  /// Reads the parameter.
  ///
  /// - Throws: ``GenerationError`` for a key or value that does not exist.
  init(_ text: String) throws(GenerationError) {
    for pair in text.split(separator: ",") {
      let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { throw GenerationError("parameter '\(pair)' is not Key=value") }
      switch parts[0] {
      case "Visibility":
        guard ["public", "package", "internal"].contains(parts[1]) else {
          throw GenerationError("Visibility is public, package or internal, not '\(parts[1])'")
        }
        visibility = parts[1]
      case "Module": module = parts[1]
      case "Map":
        let mapping = parts[1].split(separator: ":").map(String.init)
        guard mapping.count == 2 else { throw GenerationError("Map is package:Module, not '\(parts[1])'") }
        modules.append((mapping[0], mapping[1]))
      default: throw GenerationError("parameter '\(parts[0])' is unknown; known are Visibility, Module, Map")
      }
    }
    guard !module.isEmpty else { throw GenerationError("the parameter Module is missing") }
  }

  /// The module that a package's types live in.
  func module(ofPackage package: String) -> String {
    let matches = modules.filter { package == $0.package || package.hasPrefix($0.package + ".") }
    return matches.max { $0.package.count < $1.package.count }?.module ?? module
  }
}

/// Why nothing was generated, in words for the person who runs the compiler.
struct GenerationError: Error {
  let message: String

  init(_ message: String) {
    self.message = message
  }
}
