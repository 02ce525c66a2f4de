internal import EventLoop
internal import JSON
internal import OpenID
internal import Outbound

/// Reads what a token endpoint answers (RFC 6749, sections 5.1 and 5.2).
enum TokenAnswer {
  struct Failure: Error {
    let error: MintError
    /// Whether another attempt may go better.
    let mayPass: Bool
  }

  private static let passingStatuses: Set<Int> = [408, 429, 500, 503, 504]
  private static let passingErrors = ["internal_failure", "server_error", "temporarily_unavailable"]

  static func read(_ response: HTTPResponse, at now: MonotonicInstant) -> Result<CloudToken, Failure> {
    let object = try? JSONParser.parse(response.body).object
    guard response.isSuccess else { return .failure(failure(response.status, object)) }
    guard let object, let value = object["access_token"]?.string, isToken(value) else {
      return .failure(Failure(error: MintError(.malformed, detail: "no access_token"), mayPass: false))
    }
    if let type = object["token_type"]?.string, type.lowercased() != "bearer" {
      return .failure(Failure(error: MintError(.malformed, detail: "the token is no bearer token"), mayPass: false))
    }
    let lifetime = object["expires_in"].flatMap(seconds)
    return .success(CloudToken(value: value, expiresAt: lifetime.map { now.advanced(by: .seconds($0)) }))
  }

  /// A number, or a number in a text: some Google services send the latter. A fraction is cut off.
  private static func seconds(_ value: JSONValue) -> Int64? {
    let double = value.number?.double ?? value.string.flatMap { Double(String($0.trimmed)) }
    guard let double, double.isFinite else { return nil }
    return Int64(max(0, min(double, 1e9)))
  }

  static func failure(_ status: Int, _ object: JSONObject?, passing: Set<Int> = []) -> Failure {
    // Google's other endpoints have an object there, with a word of its own for the kind of failure.
    let kind = object?["error"]?["status"]?.string
    let texts = [kind].compactMap(\.self) + ["error", "error_description"].compactMap { object?[$0]?.string }
    let mayPass =
      passingStatuses.contains(status) || passing.contains(status)
      || texts.contains { text in passingErrors.contains(where: text.contains) }
    // An OAuth error code is a word; what is longer may hold anything and stays out of the log.
    let word = texts.first.flatMap { $0.utf8.count <= 40 && $0.utf8.allSatisfy(isWordByte) ? $0 : nil }
    return Failure(error: MintError(.refused, detail: "status \(status)" + (word.map { " \($0)" } ?? "")), mayPass: mayPass)
  }

  /// What may stand in a header of the client's next request.
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
  }

  private static func isWordByte(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) || byte == 0x5f }
}
