import JSON
import RPCServer

/// An error as Google's APIs tell it.
struct CloudRefusal: Error {
  let status: Int
  /// The name of the kind: `PERMISSION_DENIED`.
  let kind: String
  let message: String
  /// The reason of the `ErrorInfo` in its details.
  var reason: String?

  static func invalid(_ message: String) -> CloudRefusal {
    CloudRefusal(status: 400, kind: "INVALID_ARGUMENT", message: message)
  }

  static func notFound(_ message: String) -> CloudRefusal { CloudRefusal(status: 404, kind: "NOT_FOUND", message: message) }

  static func denied(_ message: String, _ reason: String) -> CloudRefusal {
    CloudRefusal(status: 403, kind: "PERMISSION_DENIED", message: message, reason: reason)
  }

  static let noToken = CloudRefusal(
    status: 401, kind: "UNAUTHENTICATED", message: "Request is missing required authentication credential.",
    reason: "CREDENTIALS_MISSING")
  static let badToken = CloudRefusal(
    status: 401, kind: "UNAUTHENTICATED",
    message: "Request had invalid authentication credentials. Expected OAuth 2 access token.",
    reason: "ACCESS_TOKEN_TYPE_UNSUPPORTED")

  var response: HTTPServerResponse {
    var error: JSONObject = [
      "code": .number(JSONNumber(status)), "message": .string(message), "status": .string(kind),
    ]
    if let reason {
      error["details"] = [
        ["@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": .string(reason), "domain": "googleapis.com"]
      ]
    }
    var response = HTTPServerResponse.json(["error": .object(error)], status: status)
    if status == 401 { response.headers.append(("www-authenticate", #"Bearer realm="https://accounts.google.com/""#)) }
    return response
  }
}

/// Who asks one of Google's APIs.
enum CloudCaller {
  /// The account behind the bearer token, if that was minted here, opens the APIs, and belongs to an account with the role.
  static func account(
    of request: HTTPServerRequest, with role: CloudAccount.Role, _ tokens: MintedTokens, at now: Int64
  ) throws(CloudRefusal) -> CloudAccount {
    guard let field = request.header("authorization") else { throw .noToken }
    let parts = field.split(separator: " ", omittingEmptySubsequences: true)
    guard parts.count == 2, parts[0].lowercased() == "bearer", let grant = tokens.grant(String(parts[1]), at: now) else {
      throw .badToken
    }
    guard grant.scopes.contains(MintedTokens.cloudPlatform) else {
      throw .denied("Request had insufficient authentication scopes.", "ACCESS_TOKEN_SCOPE_INSUFFICIENT")
    }
    guard grant.account.roles.contains(role) else {
      throw .denied("The caller does not have permission", "IAM_PERMISSION_DENIED")
    }
    return grant.account
  }

  /// The object in the body.
  static func object(_ request: HTTPServerRequest) throws(CloudRefusal) -> JSONObject {
    guard let object = try? JSONParser.parse(request.body).object else { throw .invalid("Invalid JSON payload received.") }
    return object
  }
}
