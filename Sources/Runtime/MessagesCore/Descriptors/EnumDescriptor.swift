/// The names and numbers of an enum of a `.proto` file.
public final class EnumDescriptor: Sendable {
  /// The full name, `package.Enum`.
  public let name: String
  /// The values in the order of the file; aliases repeat a number, and the first name of a number is the one written.
  public let values: [(number: Int32, name: String)]

  /// Describes an enum.
  public init(_ name: String, _ values: [(number: Int32, name: String)]) {
    self.name = name
    self.values = values
  }

  /// The first name of a number, or nil.
  public func name(of number: Int32) -> String? {
    values.first { $0.number == number }?.name
  }

  /// The number of a name, or nil.
  public func number(of name: String) -> Int32? {
    values.first { $0.name == name }?.number
  }
}
