import ArgumentParser
import EventLoop
import Glibc

/// Where the requests of a call come from.
enum RequestSource {
  /// The command line.
  case given([[UInt8]])
  /// Standard input, as they come.
  case standardInput

  /// Calls `body` with each request.
  func forEach(on loop: EventLoop, _ body: ([UInt8]) async throws -> Void) async throws {
    switch self {
    case .given(let requests): for request in requests { try await body(request) }
    case .standardInput:
      let reader = RequestReader(STDIN_FILENO, on: loop)
      while let request = try await reader.next() { try await body(request) }
    }
  }
}
