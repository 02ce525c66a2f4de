internal import ErrorReasons
public import JSON
public import RPC
public import RPCServer

extension HTTPServerResponse {
  /// A refusal as the first apps' paths answer it: `{"success": false, "error": …, "code": …}` with `retry-after` and `www-authenticate`
  /// where they belong.
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
    var headers: [(name: String, value: String)] = []
    if let delay = error?.retryAfter { headers.append(("retry-after", "\(delay.wholeSecondsUp)")) }
    if status == 401 { headers.append(("www-authenticate", "Bearer")) }
    return .json(status, JSONValue.object(body).encoded(), headers: headers)
  }

  /// The same with the status and the message of the error.
  public static func failure(_ error: RPCError, adding more: JSONObject = [:]) -> HTTPServerResponse {
    failure(error.httpStatus, error.message, error, adding: more)
  }
}
