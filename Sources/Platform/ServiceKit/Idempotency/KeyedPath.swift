internal import EventLoop
public import Idempotency
public import MessagesCore
public import RPC

/// The keys of a method's requests (`(parley.options.v1.idempotency)`) for those who have what it does done by another way than its calls: a
/// path of plain HTTP.
///
/// A key is the same request by both ways. Who has none is served all the same.
public struct KeyedPath: Sendable {
  private let method: MethodInfo
  private let keptHours: Int
  private let runs: KeyedRuns

  /// The keys of a method. One whose options keep no answers is a programmer's mistake.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - store: Where the answers of its calls are kept.
  ///   - context: What the service is built from.
  public init(of method: MethodInfo, _ store: IdempotencyStore, _ context: ServiceContext) {
    guard let replay = method.policy?.replay else { preconditionFailure("\(method.path) keeps no answers") }
    self.method = method
    keptHours = replay.keptHours
    runs = KeyedRuns(
      store, longestCall: context.settings[StandardKeys.maxCallDuration], clock: context.clock, loops: context.loops.loops,
      registry: context.metrics, log: context.log)
  }

  /// Has a request answered, or tells what it was answered before.
  ///
  /// - Parameters:
  ///   - request: The request, with its key in it, so that it is the one that a call would bring.
  ///   - key: The key; nil where there is none.
  ///   - caller: Whose it is.
  ///   - answer: What answers it, and may keep the answer by itself with what it is given; that is nil without a key.
  /// - Throws: What `answer` throws, or a refusal as a call gets it.
  public func answer<Response: Message>(
    _ request: some Message, key: String?, of caller: Caller, _ answer: (KeyedRequest?) async throws -> Response
  ) async throws -> Response {
    guard let key else { return try await answer(nil) }
    switch try await runs.turn(request, key: key, method, of: caller, keptHours: keptHours) {
    case .answered(let kept): return try runs.response(kept, as: Response.self)
    case .run(let keyed):
      do {
        let response = try await answer(keyed)
        await runs.keep(response, of: keyed)
        return response
      } catch {
        await runs.settle(keyed, error)
        throw error
      }
    }
  }
}
