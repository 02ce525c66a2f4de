import ArgumentParser

/// A token of the command line: itself, the name of a file that holds it (`@file`), or `-` for standard input.
struct SecretArgument: ExpressibleByArgument {
  /// Where the token is.
  enum Source: Equatable {
    case text(String)
    case file(String)
    case standardInput
  }

  let source: Source

  init?(argument: String) {
    switch argument {
    case "", "@": return nil
    case "-": source = .standardInput
    default: source = argument.hasPrefix("@") ? .file(String(argument.dropFirst())) : .text(argument)
    }
  }

  /// The token, without the line end of the file it was in.
  func read() throws -> String {
    let text: String
    switch source {
    case .text(let token): text = token
    case .file(let path): text = String(decoding: try StandardInput.read(file: path), as: UTF8.self)
    case .standardInput: text = String(decoding: try StandardInput.read(), as: UTF8.self)
    }
    let token = String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
      throw ValidationError("The token is empty or not one line of printable ASCII.")
    }
    return token
  }
}
