/// A value that is made when it is first needed: that takes a while, and most who start a sandbox never ask.
struct MadeWhenNeeded<Value: Sendable>: Sendable {
  private let make: @Sendable () throws -> Value
  private var made: Value?

  init(_ make: @escaping @Sendable () throws -> Value) { self.make = make }

  /// The value.
  mutating func value() throws -> Value {
    if let made { return made }
    let value = try make()
    made = value
    return value
  }

  /// Changes the value, and tells what it is then.
  mutating func change(_ body: (inout Value) -> Void) throws -> Value {
    var value = try value()
    body(&value)
    made = value
    return value
  }
}
