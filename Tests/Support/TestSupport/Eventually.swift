internal import EventLoop

/// Asks again and again until the answer is yes.
///
/// No verdict falls without a look after it was due: a machine that stood still meanwhile refutes nothing. A question has to end by
/// itself; what may hang has a deadline of its own.
///
/// - Parameters:
///   - what: What is awaited, as the error names it; else the place of the question.
///   - limit: For how long it is asked, on a plain build: ``Swift/Duration/withPatience`` is added here, and nowhere else.
///   - condition: The question. A clock that stands unless a test moves it has to be moved in here.
/// - Throws: ``TimedOut`` with what was awaited, and whatever the question throws.
public func eventually(
  _ what: String? = nil, atMost limit: Duration = .seconds(30), fileID: String = #fileID, line: Int = #line,
  _ condition: () async throws -> Bool
) async throws {
  let deadline = MonotonicInstant.now().advanced(by: limit.withPatience)
  while try await !condition() {
    guard MonotonicInstant.now() < deadline else {
      throw TimedOut("\(what ?? "what line \(line) of \(fileID) waits for"): not within \(limit)")
    }
    try await Task.sleep(for: .milliseconds(50))
  }
}
