/// One case of the tests.
struct TestCase: Sendable {
  /// Its public name.
  let name: String
  /// Makes its calls; throws when the server does otherwise than it must.
  let run: @Sendable (Stage) async throws -> Void

  init(_ name: String, _ run: @escaping @Sendable (Stage) async throws -> Void) {
    self.name = name
    self.run = run
  }

  /// Every case, in the order in which they are documented.
  static let all: [TestCase] = UnaryCases.all + StreamCases.all + CompressionCases.all + EndingCases.all + SoakCases.all

  /// Why it failed, or nil when it passed.
  func outcome(on stage: Stage, within limit: Duration) async -> String? {
    await withTaskGroup(of: String?.self) { tasks in
      tasks.addTask {
        do { try await run(stage) } catch { return "\(error)" }
        return nil
      }
      tasks.addTask {
        guard (try? await Task.sleep(for: limit)) != nil else { return nil }
        return "no end within \(limit)"
      }
      let first = await tasks.next() ?? nil
      tasks.cancelAll()
      return first
    }
  }
}
