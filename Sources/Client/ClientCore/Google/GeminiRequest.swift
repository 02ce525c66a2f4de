import Foundation
public import JSON

/// What a model is asked.
public struct GeminiRequest: Sendable, Hashable {
  /// One piece of what is said.
  public enum Part: Sendable, Hashable {
    /// Text.
    case text(String)
    /// Bytes of a type: `audio/wav`. A request with them may have 20 MB.
    case data(type: String, [UInt8])
    /// A file that Google has already.
    case file(type: String, uri: String)
  }

  /// Who speaks.
  public enum Role: String, Sendable, Hashable {
    /// Whoever asks.
    case user
    /// The model, in what it answered before.
    case model
  }

  /// What one side said.
  public struct Turn: Sendable, Hashable {
    /// Who.
    public var role: Role
    /// What.
    public var parts: [Part]

    /// A turn; by default of whoever asks.
    public init(_ role: Role = .user, _ parts: [Part]) {
      self.role = role
      self.parts = parts
    }
  }

  /// The conversation so far, the last turn being the question.
  public var turns: [Turn]
  /// How the model is to behave.
  public var instruction: String?
  /// How freely it chooses its words: 0 to 2.
  public var temperature: Double?
  /// From how likely a part of the words it chooses: 0 to 1.
  public var topP: Double?
  /// From how many words it chooses.
  public var topK: Int?
  /// The most to answer, in tokens.
  public var maximumOutputTokens: Int?
  /// What ends the answer when the model writes it.
  public var stopSequences: [String] = []
  /// What makes answers repeat.
  public var seed: Int?
  /// The form of the answer: `application/json`.
  public var responseType: String?
  /// The schema of an answer in JSON.
  public var responseSchema: JSONValue?

  /// A question.
  public init(turns: [Turn], instruction: String? = nil) {
    self.turns = turns
    self.instruction = instruction
  }

  /// A question in words.
  public init(_ text: String, instruction: String? = nil) {
    self.init(turns: [Turn(.user, [.text(text)])], instruction: instruction)
  }

  var json: JSONValue {
    var object: JSONObject = [
      "contents": .array(
        turns.map { ["role": .string($0.role.rawValue), "parts": .array($0.parts.map(Self.json))] })
    ]
    if let instruction { object["systemInstruction"] = ["parts": [["text": .string(instruction)]]] }
    var configuration = JSONObject()
    configuration["temperature"] = temperature.flatMap { JSONNumber($0) }.map(JSONValue.number)
    configuration["topP"] = topP.flatMap { JSONNumber($0) }.map(JSONValue.number)
    configuration["topK"] = topK.map { .number(JSONNumber($0)) }
    configuration["maxOutputTokens"] = maximumOutputTokens.map { .number(JSONNumber($0)) }
    configuration["seed"] = seed.map { .number(JSONNumber($0)) }
    configuration["responseMimeType"] = responseType.map(JSONValue.string)
    configuration["responseSchema"] = responseSchema
    if !stopSequences.isEmpty { configuration["stopSequences"] = .array(stopSequences.map(JSONValue.string)) }
    if !configuration.isEmpty { object["generationConfig"] = .object(configuration) }
    return .object(object)
  }

  private static func json(_ part: Part) -> JSONValue {
    switch part {
    case .text(let text): ["text": .string(text)]
    case .data(let type, let bytes):
      ["inlineData": ["mimeType": .string(type), "data": .string(Data(bytes).base64EncodedString())]]
    case .file(let type, let uri): ["fileData": ["mimeType": .string(type), "fileUri": .string(uri)]]
    }
  }
}
