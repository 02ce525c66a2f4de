import ArgumentParser

/// A method by its full name: `package.Service/Method`, with a slash in front as in URLs, or with a dot instead of the slash.
struct MethodName: ExpressibleByArgument, CustomStringConvertible {
  let service: String
  let method: String

  init?(argument: String) {
    let text = argument.hasPrefix("/") ? argument.dropFirst() : argument[...]
    guard let split = text.lastIndex(of: "/") ?? text.lastIndex(of: ".") else { return nil }
    service = String(text[..<split])
    method = String(text[text.index(after: split)...])
    guard !service.isEmpty, !method.isEmpty, !service.contains("/") else { return nil }
  }

  var description: String { "\(service)/\(method)" }
}
