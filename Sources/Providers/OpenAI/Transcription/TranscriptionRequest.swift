public import EventLoop

/// A recording whose words are wanted.
public struct TranscriptionRequest: Sendable {
  /// How much is to be told of it.
  public enum Format: String, Sendable, Hashable {
    /// The text.
    case json
    /// The text, the language, the duration, and segments with how sure the model is. Not every model knows it.
    case verboseJSON = "verbose_json"
  }

  /// The model's name as the server knows it.
  public var model: String
  /// The recording.
  public var audio: [UInt8]
  /// What the file is called. Servers tell the format by its extension.
  public var filename: String
  /// Its type: `audio/mp4`.
  public var mediaType: String
  /// The caller's id of the request, printable ASCII, at most 512 bytes: the same when it is sent again.
  public var requestID: String
  /// The language that is spoken, as ISO 639-1 names it (`en`), or `auto` for a server that would take it for English; nil to say
  /// nothing.
  public var language: String?
  /// Words that go before, so that names are spelled as there.
  public var prompt: String?
  /// How much chance there is in it, 0 to 1.
  public var temperature: Double?
  /// How much is to be told; nil: as much as the model can.
  public var format: Format?
  /// How long it may take, instead of the setting.
  public var timeout: Duration?
  /// When the caller itself must have answered.
  public var deadline: MonotonicInstant?

  /// A request; the rest is set on the value.
  ///
  /// - Parameters:
  ///   - model: The model's name as the server knows it.
  ///   - audio: The recording.
  ///   - filename: What the file is called, with its extension.
  ///   - mediaType: Its type.
  ///   - requestID: The caller's id of the request.
  public init(model: String, audio: [UInt8], filename: String, mediaType: String, requestID: String) {
    self.model = model
    self.audio = audio
    self.filename = filename
    self.mediaType = mediaType
    self.requestID = requestID
  }
}
