/// Why bytes could not be compressed or restored.
package struct CompressionError: Error, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  package enum Code: Sendable, Hashable {
    /// The input is not in the format named, is cut off, or goes on after its end.
    case malformed
    /// The output would be larger than allowed.
    case tooLarge
  }

  /// The kind of failure.
  package let code: Code
  /// For people.
  package let description: String

  init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
