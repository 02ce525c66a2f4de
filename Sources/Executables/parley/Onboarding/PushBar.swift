import ClientCore
import Glibc
import ParleyAPI

/// Shows how a push goes: one line that is drawn anew where people watch, a line for each change elsewhere.
struct PushBar {
  private static let cells = 24

  private let isTerminal: Bool
  private var last = ""
  private var percent = 0
  private var drawn = 0

  /// A bar on standard error.
  init(isTerminal: Bool = isatty(STDERR_FILENO) == 1) { self.isTerminal = isTerminal }

  /// Shows a state, unless it looks like the one before.
  mutating func show(_ state: PushState) {
    percent = state.percent ?? percent
    let line = Self.line(state, percent)
    guard line != last else { return }
    last = line
    guard isTerminal else { return Console.note(line) }
    let blanks = String(repeating: " ", count: max(0, drawn - line.count))
    drawn = line.count
    Console.draw("\r" + line + blanks)
    switch state {
    case .complete, .failed: end()
    default: break
    }
  }

  /// Goes on to the next line.
  mutating func end() {
    if isTerminal, drawn > 0 { Console.draw("\n") }
    drawn = 0
  }

  /// `[##########--------------]  40%  Uploading your responses.`
  static func line(_ state: PushState, _ percent: Int) -> String {
    let full = min(cells, percent * cells / 100)
    let bar = String(repeating: "#", count: full) + String(repeating: "-", count: cells - full)
    let number = "\(percent)"
    return "[\(bar)] \(String(repeating: " ", count: 3 - number.count))\(number)%  \(Printable.text(state.text))"
  }
}
