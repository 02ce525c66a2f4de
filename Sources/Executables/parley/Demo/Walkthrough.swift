import EventLoop

/// All steps, one after the other, with a line for each.
struct Walkthrough {
  static let steps =
    CallSteps.all + SessionSteps.all + OnboardingSteps.all + AccountSteps.all + EverywhereSteps.all + RefusalSteps.all
    + TroubleSteps.all

  let stage: DemoStage
  var steps = Walkthrough.steps
  var hasColours = Console.hasColours

  /// Runs all steps, also when some fail, and returns how many did.
  func run() async -> Int {
    // Tokens too short-lived to be shared make every exchange a mint, so that the provider's outage shows.
    let formerLifetime = try? await stage.sandbox.changeTokenLifetime(to: 300)
    let width = (steps.map(\.title.count).max() ?? 0) + 2
    var failed = 0
    for (index, step) in steps.enumerated() {
      let started = MonotonicInstant.now()
      let outcome: Result<String, any Error>
      do { outcome = .success(try await step.show(stage)) } catch { outcome = .failure(error) }
      let milliseconds = Int(MonotonicInstant.now().duration(since: started) / .milliseconds(1))
      if case .failure = outcome { failed += 1 }
      let title = step.title + String(repeating: " ", count: width - step.title.count)
      Console.write(line: "\(mark(outcome)) \(index < 9 ? " " : "")\(index + 1)  \(title)\(text(outcome))  (\(milliseconds) ms)")
    }
    if let formerLifetime { _ = try? await stage.sandbox.changeTokenLifetime(to: formerLifetime) }
    Console.write(line: "\(steps.count - failed) passed, \(failed) failed")
    return failed
  }

  private func mark(_ outcome: Result<String, any Error>) -> String {
    switch outcome {
    case .success: hasColours ? "\u{1b}[32mok    \u{1b}[0m" : "ok    "
    case .failure: hasColours ? "\u{1b}[31mFAILED\u{1b}[0m" : "FAILED"
    }
  }

  private func text(_ outcome: Result<String, any Error>) -> String {
    switch outcome {
    case .success(let seen): seen
    case .failure(let error): "\(error)"
    }
  }
}
