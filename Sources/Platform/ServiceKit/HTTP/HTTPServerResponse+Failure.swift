internal import ErrorReasons
public import JSON
public import RPC
public import RPCServer

extension HTTPServerResponse {
  /// A refusal as the first apps' paths answer it: `{"success": false, "error": …, "code": …}` with `retry-after`, `ratelimit-…` and
  /// `www-authenticate` where they belong.
  ///
  /// - Parameters:
  ///   - status: The status.
  ///   - text: What to say.
  ///   - error: What was refused; its reason is the code. Nil for a request that was never as far as a call.
  ///   - more: Further members of the body.
  public static func failure(
    _ status: Int, _ text: String, _ error: RPCError? = nil, adding more: JSONObject = [:]
  ) -> HTTPServerResponse {
    var body: JSONObject = ["success": false, "error": .string(text)]
    if let reason = error?.reason { body["code"] = .string(reason) }
    for member in more { body[member.name] = member.value }
    let unsigned: [(name: String, value: String)] = status == 401 ? [("www-authenticate", "Bearer")] : []
    return .json(status, JSONValue.object(body).encoded(), headers: error?.httpFields(status) ?? unsigned)
  }

  /// The same with the status and the message of the error, and where a subscription is missing with the hints by which the apps open
  /// their paywall.
  public static func failure(_ error: RPCError) -> HTTPServerResponse {
    failure(error.httpStatus, error.message, error, adding: error.paywallHints ?? [:])
  }
}
