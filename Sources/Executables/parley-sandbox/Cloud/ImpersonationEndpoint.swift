import Glibc
import JSON
import RPCServer

/// `generateAccessToken`: one account's token in, another's out.
struct ImpersonationEndpoint {
  static let prefix = "/v1/projects/-/serviceAccounts/"
  static let suffix = ":generateAccessToken"

  let tokens: MintedTokens

  func answer(_ request: HTTPServerRequest, now: Int64) throws(CloudRefusal) -> HTTPServerResponse {
    _ = try CloudCaller.account(of: request, with: .tokenCreator, tokens, at: now)
    let email = String(request.path.dropFirst(Self.prefix.count).dropLast(Self.suffix.count))
    // What is not there and what may not be had look the same.
    guard let account = CloudAccount.named(email) else {
      throw .denied(
        "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).", "IAM_PERMISSION_DENIED")
    }
    let body = try CloudCaller.object(request)
    let scopes = (body["scope"]?.array ?? []).compactMap(\.string)
    guard !scopes.isEmpty, scopes.count == body["scope"]?.array?.count else {
      throw .invalid("scope: a list of scopes is needed.")
    }
    let text = body["lifetime"]?.string ?? "3600s"
    guard text.hasSuffix("s"), let lifetime = Int64(text.dropLast()), (1...3600).contains(lifetime) else {
      throw .invalid("The lifetime is not from 1s to 3600s.")
    }
    let token = tokens.mint(account, scopes: scopes, end: now + lifetime)
    return .json(["accessToken": .string(token), "expireTime": .string(Self.text(now + lifetime))])
  }

  /// `2026-01-02T03:19:05Z`.
  private static func text(_ seconds: Int64) -> String {
    var (instant, parts) = (time_t(seconds), tm())
    gmtime_r(&instant, &parts)
    var buffer = [CChar](repeating: 0, count: 32)
    let count = strftime(&buffer, buffer.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
    return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
