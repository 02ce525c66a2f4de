import JSON

/// Google's Gemini (`generateContent`, one request and one answer), with tokens of the broker.
public struct Gemini: Sendable {
  /// The model that is asked unless the caller says otherwise.
  public static let defaultModel = "gemini-2.0-flash"

  private let service: GoogleService
  private let model: String

  /// A client of one model.
  ///
  /// - Parameters:
  ///   - model: The model's name, without `models/`.
  ///   - tokens: Who has the tokens.
  ///   - capability: What to ask the broker for.
  ///   - http: Who sends the requests.
  ///   - baseURL: Where the service is.
  ///   - timeout: How long a request may take.
  ///   - log: Where to write that a request is made.
  public init(
    model: String = Self.defaultModel, tokens: any CloudTokenProviding, capability: String = "",
    http: any HTTPExchanging = URLSessionExchange(), baseURL: String = "https://generativelanguage.googleapis.com",
    timeout: Duration = .seconds(90), log: DebugLog = .none
  ) {
    self.model = model
    service = GoogleService(
      name: "Gemini", baseURL: baseURL, capability: capability, tokens: tokens, http: http, timeout: timeout, log: log)
  }

  /// Asks the model.
  ///
  /// - Throws: ``GoogleError``, with 400 for a model whose name is none; ``TokenBrokerError`` when there is no token;
  ///   `CancellationError`.
  public func generateContent(_ request: GeminiRequest) async throws -> GeminiAnswer {
    let isName = model.utf8.allSatisfy {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: ".-_@".utf8.contains($0)
      }
    }
    guard isName, !model.isEmpty else { throw GoogleError(.init(rawValue: 400), "'\(model)' is no name of a model") }
    return GeminiAnswer(try await service.post("/v1beta/models/\(model):generateContent", request.json))
  }
}
