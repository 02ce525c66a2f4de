import JOSE
import JSON
import Multipart
import RPCServer

/// A recording whose words are asked for, read as strictly as can be: what OpenAI would ignore is refused, since it is a mistake.
struct TranscriptionEndpoint {
  /// Of the whole request, not of the recording alone.
  private static let maximumSize = 25 << 20
  private static let extensions: Set<String> = ["flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm"]
  private static let fields: Set<String> = ["file", "model", "language", "prompt", "response_format", "temperature"]

  /// The SHA-256 of the recording.
  let hash: String
  private let size: Int
  private let format: String
  private let language: String?

  init(_ request: HTTPServerRequest, _ dialect: OpenAIDialect) throws(OpenAIRefusal) {
    guard request.body.count <= Self.maximumSize else {
      throw OpenAIRefusal(
        status: 413, code: nil,
        message: "Maximum content size limit (\(Self.maximumSize)) exceeded (\(request.body.count) bytes read)")
    }
    let form: MultipartBody
    do throws(MultipartError) {
      form = try MultipartBody(parsing: request.body, contentType: request.header("content-type") ?? "")
    } catch { throw .invalid("Could not parse multipart form: \(error)") }
    for part in form.parts where !Self.fields.contains(part.name) {
      throw .invalid("Unrecognized request argument supplied: \(part.name)", part.name)
    }
    for name in Self.fields where form.all(name).count > 1 { throw .invalid("'\(name)' comes more than once", name) }
    guard let file = form["file"], let filename = file.filename else { throw .invalid("you must provide a file", "file") }
    let ending = filename.split(separator: ".", omittingEmptySubsequences: false).dropFirst().last.map { $0.lowercased() }
    guard let ending, Self.extensions.contains(ending), file.mediaType?.isEmpty == false, !file.bytes.isEmpty else {
      throw .invalid("Invalid file format. Supported formats: \(Self.extensions.sorted())", "file")
    }
    if let kind = RecordingKind(file.bytes), !kind.agrees(ending: ending, type: file.mediaType) {
      throw .invalid("Audio file might be corrupted or unsupported: it is not what it is called.", "file")
    }
    guard let model = form["model"]?.text, !model.isEmpty else { throw .invalid("you must provide a model parameter", "model") }
    let isWhisper = model == "whisper-1"
    guard isWhisper || ["gpt-4o-transcribe", "gpt-4o-mini-transcribe"].contains(model) else { throw .noModel(model) }
    format = form["response_format"]?.text ?? "json"
    guard isWhisper && dialect.isVerbose ? ["json", "verbose_json"].contains(format) : format == "json" else {
      throw .invalid(
        "response_format '\(format)' is not compatible with model '\(model)'", "response_format", code: "unsupported_value")
    }
    language = form["language"]?.text
    if let language, language.utf8.count != 2 || !language.utf8.allSatisfy({ (0x61...0x7a).contains($0) }) {
      throw .invalid("Invalid language '\(language)'. Language parameter must be specified in ISO-639-1 format.", "language")
    }
    if let temperature = form["temperature"]?.text, Double(temperature).map({ (0...1).contains($0) }) != true {
      throw .invalid("temperature must be between 0 and 1", "temperature")
    }
    hash = Hexadecimal.text(SHA256.digest(Array(file.bytes)))
    size = file.bytes.count
  }

  /// The answer: what a test said is spoken, else words that are the recording's own.
  func answer(_ known: String?) -> HTTPServerResponse {
    let text = known ?? "words of \(hash.prefix(8))"
    guard format == "verbose_json" else {
      return .json(["text": .string(text), "usage": ["type": "duration", "seconds": .number(JSONNumber(seconds))]])
    }
    var segments: [JSONValue] = []
    if !text.isEmpty {
      segments.append([
        "id": 0, "seek": 0, "start": 0, "end": .number(JSONNumber(seconds)), "text": .string(" \(text)"), "tokens": [],
        "temperature": 0, "avg_logprob": JSONNumber(-0.25).map { .number($0) } ?? .null, "compression_ratio": 1,
        "no_speech_prob": JSONNumber(0.01).map { .number($0) } ?? .null,
      ])
    }
    return .json([
      "task": "transcribe", "language": .string(language == "de" ? "german" : "english"),
      "duration": .number(JSONNumber(seconds)),
      "text": .string(text), "segments": .array(segments),
      "usage": ["type": "duration", "seconds": .number(JSONNumber(seconds))],
    ])
  }

  /// At the 8 kB a second of a usual recording of speech.
  private var seconds: Int { size / 8_000 + 1 }
}
