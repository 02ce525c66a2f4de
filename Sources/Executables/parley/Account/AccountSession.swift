import ArgumentParser
import ClientCore
import ParleyAPI
import RPC

/// A person's account as the `account` commands reach it.
struct AccountSession: Sendable {
  let keeper: SessionKeeper
  let client: AccountClient
  private let person: SandboxSignIn
  private let ca: String?
  private let local: LocalSettings

  init(_ place: SessionPlace, _ connection: Connection, _ person: SandboxSignIn, ca: String?, _ local: LocalSettings) {
    keeper = place.keeper(connection)
    client = AccountClient(channel: SessionChannel(connection.channel, keeper: keeper))
    self.person = person
    self.ca = ca
    self.local = local
  }

  /// Makes a call, and once more when the service wants to see the person first. The sandbox shows a token by itself; for a real
  /// provider the person is told what to do.
  func steppingUp<Value>(_ call: () async throws -> Value) async throws -> Value {
    do { return try await call() } catch let error as RPCError where error.reason == "STEP_UP_REQUIRED" {
      guard person.hasSandbox(local) else {
        Console.note("parley: this needs a sign-in of the last minutes: run 'parley login' again, and then this once more")
        throw error
      }
      let challenge = try await keeper.beginSignIn(with: person.provider.provider)
      let token = try await person.token(challenge.providerNonce, ca: ca, local)
      try await keeper.stepUp(with: person.provider.provider, idToken: token, nonce: challenge.nonce)
      return try await call()
    }
  }
}

/// Tells of work as it goes on: each part once, when it is done or fails.
struct WorkProgress {
  private var told: Set<String> = []

  /// Asks until the work has ended.
  ///
  /// - Parameters:
  ///   - deadline: When to stop asking.
  ///   - ask: The work as it is now.
  /// - Returns: The work as it was last; it may still run.
  mutating func follow(until deadline: Deadline, _ ask: () async throws -> AccountWork) async throws -> AccountWork {
    while true {
      let work = try await ask()
      tell(work)
      guard work.state == .running, deadline.timeLeft > .zero else { return work }
      try await Task.sleep(for: .milliseconds(250))
    }
  }

  private mutating func tell(_ work: AccountWork) {
    for step in work.steps {
      if step.isDone, told.insert(step.name).inserted { Console.note("\(Printable.text(step.name)): done") }
      let failure = "\(step.name): \(step.failure)"
      if !step.isDone, !step.failure.isEmpty, told.insert(failure).inserted {
        Console.note("\(Printable.text(failure)), tried again")
      }
    }
  }
}
