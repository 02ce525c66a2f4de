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
  ///   - error: What was refused; its reason is the code. One without a reason has the name of its status in that place.
  ///   - more: Further members of the body.
  public static func failure(
    _ status: Int, _ text: String, _ error: RPCError, adding more: JSONObject = [:]
  ) -> HTTPServerResponse {
    failure(status, text, code: error.reason ?? error.code.name, headers: error.httpFields(status), adding: more)
  }

  /// The same for a request that was never as far as a call.
  ///
  /// - Parameters:
  ///   - status: The status.
  ///   - text: What to say.
  ///   - code: The reason, for programs.
  ///   - headers: Further header fields.
  ///   - more: Further members of the body.
  public static func failure(
    _ status: Int, _ text: String, code: String, headers: [(name: String, value: String)] = [], adding more: JSONObject = [:]
  ) -> HTTPServerResponse {
    var body: JSONObject = ["success": false, "error": .string(text), "code": .string(code)]
    for member in more { body[member.name] = member.value }
    return .json(status, JSONValue.object(body).encoded(), headers: headers)
  }

  /// 405 for whoever comes with another method than `allowed`.
  public static func wrongMethod(allowed: String) -> HTTPServerResponse {
    failure(405, "method not allowed", code: "METHOD_NOT_ALLOWED", headers: [("allow", "\(allowed), OPTIONS")])
  }

  /// 404 for a path that leads nowhere.
  public static var noSuchPath: HTTPServerResponse { failure(404, "not found", code: "PATH_NOT_FOUND") }

  /// What the server itself turns away: bodies that are too large or do not come, too many headers, too much at once.
  public static func refused(_ refusal: HTTPRefusal) -> HTTPServerResponse {
    failure(refusal.status, refusal.text, code: refusal.reason, headers: refusal.headers)
  }

  /// The same with the status and the message of the error, and where a subscription is missing with the hints by which the apps open
  /// their paywall.
  public static func failure(_ error: RPCError) -> HTTPServerResponse {
    failure(error.httpStatus, error.message, error, adding: error.paywallHints ?? [:])
  }
}
