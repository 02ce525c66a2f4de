internal import RPC

/// What a server says about another attempt, in the trailer `grpc-retry-pushback-ms`.
enum RetryPushback: Sendable, Hashable {
  /// Nothing: the policy decides when.
  case none
  /// Try again after so long.
  case after(Duration)
  /// Do not try again.
  case stop

  /// Reads the trailer: a decimal number of 32 bits. What is negative or no number means that the server wants no more.
  init(_ text: String?) {
    guard let text else {
      self = .none
      return
    }
    let isPlain = text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
    self = if isPlain, let milliseconds = Int32(text) { .after(.milliseconds(milliseconds)) } else { .stop }
  }
}
