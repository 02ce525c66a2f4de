import JSON
import RPCServer

/// What tells tests what was paid for, and lets requests wait.
struct EffectControl: Sendable {
  let control: ControlRoutes
  let effects: PaidEffects
  let held: HeldRequests
  let voices: ElevenLabsStandIn

  var routes: [HTTPRoute] {
    [
      control.route(
        "/sandbox/effects",
        [
          "GET": { _ in .json(document) },
          "DELETE": { _ in
            effects.reset()
            voices.forgetDeletions()
            return .json(document)
          },
        ]),
      control.route(
        "/sandbox/hold",
        [
          "GET": { _ in .json(holds) }, "POST": add,
          "DELETE": { _ in
            held.release()
            return .json(holds)
          },
        ]),
    ]
  }

  private var document: JSONValue {
    var document: JSONObject = [:]
    for kind in PaidEffects.Kind.allCases {
      var ledger = effects[kind].json
      if kind == .voices {
        ledger["existing"] = .number(JSONNumber(voices.count))
        ledger["deleted"] = .number(JSONNumber(voices.deletions))
      }
      document[kind.rawValue] = .object(ledger)
    }
    return .object(document)
  }

  private var holds: JSONValue {
    ["holds": .array(held.holds.map(\.json)), "waiting": .array(held.waiting.map(\.json))]
  }

  private func add(_ request: HTTPServerRequest) throws -> HTTPServerResponse {
    let request = try ControlRequest(request, allowing: ["path", "before", "count", "skip", "outlastsCaller"])
    held.add(
      .init(
        path: try control.standIn(request.text("path")).path, isBefore: try request.flag("before"),
        count: try request.integer("count", in: 1...1_000_000), skip: try request.integer("skip", in: 0...1_000_000) ?? 0,
        outlastsCaller: try request.flag("outlastsCaller")))
    return .json(holds)
  }
}
