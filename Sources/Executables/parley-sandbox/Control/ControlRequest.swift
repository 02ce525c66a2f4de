import JSON
import RPCServer

/// The JSON body of a control request, read strictly: a misspelt name is refused, not ignored.
struct ControlRequest {
  /// What is wrong with a request; the message is its answer.
  struct Fault: Error {
    let message: String
  }

  let body: JSONObject

  /// Reads the body; an empty one is an empty object.
  init(_ request: HTTPServerRequest, allowing names: Set<String>) throws(Fault) {
    guard !request.body.isEmpty else {
      body = [:]
      return
    }
    let value: JSONValue
    do { value = try JSONParser.parse(request.body) } catch { throw Fault(message: "the body is not JSON: \(error)") }
    guard let object = value.object else { throw Fault(message: "the body is not a JSON object") }
    body = object
    for member in object where !names.contains(member.name) {
      throw Fault(message: "unknown field '\(member.name)'; known are \(names.sorted().joined(separator: ", "))")
    }
  }

  /// A text, or nil when the field is absent.
  func text(_ name: String) throws(Fault) -> String? {
    guard let value = body[name] else { return nil }
    guard let text = value.string else { throw Fault(message: "'\(name)' is not a string") }
    return text
  }

  /// A whole number, or nil when the field is absent.
  func integer(_ name: String, in range: ClosedRange<Int>) throws(Fault) -> Int? {
    guard let value = body[name] else { return nil }
    guard let number = value.int64.map(Int.init), range.contains(number) else {
      throw Fault(message: "'\(name)' is not a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A truth value; false when the field is absent.
  func flag(_ name: String) throws(Fault) -> Bool { try optionalFlag(name) ?? false }

  /// A truth value, or nil when the field is absent.
  func optionalFlag(_ name: String) throws(Fault) -> Bool? {
    guard let value = body[name] else { return nil }
    guard let flag = value.bool else { throw Fault(message: "'\(name)' is not true or false") }
    return flag
  }
}
