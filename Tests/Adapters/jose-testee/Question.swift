import JOSE
import JSON

/// One token with the keys and rules that it is to be judged by.
struct Question {
  /// What the claims must say; nil if only the signature counts.
  struct Claims {
    let issuer: String
    let audience: String
    let now: Int64
  }

  let token: [UInt8]
  /// The key set document's text, as a server would send it.
  let keySet: [UInt8]
  /// The names of the algorithms that are allowed. Names that the verifier does not know allow nothing.
  let algorithms: [String]
  let claims: Claims?

  /// Reads a question; nil if the line is not one.
  init?(line: [UInt8]) {
    let options = JSONParser.Options(maximumByteCount: .max)
    guard let question = try? JSONParser.parse(line, options: options), let token = question["token"]?.string,
      let keySet = question["jwks"]?.string, let algorithms = question["algs"]?.array
    else { return nil }
    self.token = Array(token.utf8)
    self.keySet = Array(keySet.utf8)
    self.algorithms = algorithms.compactMap(\.string)
    guard self.algorithms.count == algorithms.count else { return nil }
    switch question["claims"] {
    case .bool(false): claims = nil
    case nil, .bool(true):
      guard let issuer = question["iss"]?.string, let audience = question["aud"]?.string,
        let now = question["now"]?.number?.double, abs(now) <= 0x1p53
      else { return nil }
      claims = Claims(issuer: issuer, audience: audience, now: Int64(now.rounded(.down)))
    default: return nil
    }
  }

  /// The answer to a line, as a line of JSON without its end.
  static func answer(toLine line: [UInt8]) -> [UInt8] {
    let refusal = Question(line: line).map { $0.refusal() } ?? "question_invalid"
    return JSONValue.object(["accept": .bool(refusal == nil), "reason": .string(refusal ?? "")]).encoded()
  }
}
