internal import EventLoop
internal import Jobs
internal import PostgreSQL

/// A handler whose effects can be counted: two outside, which nothing fences, and two in the database of the queue.
struct ChaosWork: Sendable {
  private struct Trouble: Error {}

  let place: ChaosPlace
  let name: String
  /// The most milliseconds that pass between two steps.
  let slowness: Int

  var handlers: JobHandlers {
    var handlers = JobHandlers()
    handlers.handle(ChaosOrders.kind) { number, run in try await work(number, run) }
    return handlers
  }

  private func work(_ number: Int64, _ run: JobRun) async throws {
    let paid = try await charge("charge", number, run)
    try await linger()
    if try await run.result(of: "booked") == nil {
      try await place.database.transaction { transaction in
        try await run.fence(in: transaction)
        try await keep("booked", number, run, paid, in: transaction)
        try await run.checkpoint("booked", in: transaction)
      }
    }
    try await linger()
    // Now and then a provider fails once.
    if run.attempt == 1 && number % 20 == 7 { throw Trouble() }
    let mailed = try await charge("mail", number, run)
    try await linger()
    if number % 2 == 0 {
      // The end of the job is part of the effect's transaction.
      try await place.database.transaction { transaction in
        try await keep("ended", number, run, mailed, in: transaction)
        try await run.finish(in: transaction)
      }
    } else if try await run.result(of: "ended") == nil {
      // Its end is written by the worker, together with others.
      try await place.database.transaction { transaction in
        try await run.fence(in: transaction)
        try await keep("ended", number, run, mailed, in: transaction)
        try await run.checkpoint("ended", in: transaction)
      }
    }
  }

  /// A provider's effect, under a key that stays the same however often it is asked for. The result says which run paid.
  private func charge(_ step: String, _ number: Int64, _ run: JobRun) async throws -> String {
    try await run.step(step) {
      try await place.outside.execute(
        "insert into charge (key, number, lease) values (\("\(run.id)/\(step)"), \(number), \(run.lease))")
      return "\(run.lease)"
    }
  }

  private func keep(
    _ step: String, _ number: Int64, _ run: JobRun, _ kept: String, in transaction: Transaction
  ) async throws {
    try await transaction.execute(
      "insert into work.effect (number, step, job, lease, kept) values (\(number), \(step), \(run.id), \(run.lease), \(kept))")
  }

  private func linger() async throws {
    guard slowness > 0 else { return }
    try await place.loop.sleep(for: .milliseconds(Int.random(in: 0...slowness)))
  }
}
