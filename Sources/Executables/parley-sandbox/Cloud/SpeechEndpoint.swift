import JOSE
import JSON
import RPCServer

/// Speech-to-Text: a recording in, always the same words out.
struct SpeechEndpoint {
  static let path = "/v1/speech:recognize"
  /// What was said in every recording.
  static let transcript = "remind me to water the plants tomorrow morning"
  private static let confidence = JSONNumber(0.97).map(JSONValue.number) ?? .null
  private static let maximumAudio = 10 << 20

  let tokens: MintedTokens

  func answer(_ request: HTTPServerRequest, now: Int64) throws(CloudRefusal) -> HTTPServerResponse {
    _ = try CloudCaller.account(of: request, with: .speech, tokens, at: now)
    let body = try CloudCaller.object(request)
    guard let language = body["config"]?["languageCode"]?.string, !language.isEmpty else {
      throw .invalid("config.language_code is missing.")
    }
    guard let audio = body["audio"]?["content"]?.string.flatMap(Base64.decode), !audio.isEmpty else {
      throw .invalid("RecognitionAudio not set.")
    }
    guard audio.count <= Self.maximumAudio else { throw .invalid("Inline audio exceeds duration limit. Please use a GCS URI.") }
    return .json([
      "results": [
        [
          "alternatives": [["transcript": .string(Self.transcript), "confidence": Self.confidence]], "resultEndTime": "2.400s",
          "languageCode": .string(language.lowercased()),
        ]
      ], "totalBilledTime": "3s", "requestId": "1",
    ])
  }
}
