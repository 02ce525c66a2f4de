import RPC
import TestSupport

/// Asks again while something else of the same person's is being written, for as long as `eventually` waits.
func untilNotBusy<Value>(_ call: () async throws -> Value) async throws -> Value {
  var answer: Value?
  try await eventually("an answer other than BUSY") {
    do { answer = try await call() } catch let error as RPCError where error.reason == "BUSY" { return false }
    return true
  }
  guard let answer else { throw TimedOut("an answer other than BUSY") }
  return answer
}
