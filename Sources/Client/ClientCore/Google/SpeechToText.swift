import Foundation
import JSON

/// Google's Speech-to-Text (v1, one request for one piece of audio), with tokens of the broker.
public struct SpeechToText: Sendable {
  private let service: GoogleService

  /// A client of the service.
  ///
  /// - Parameters:
  ///   - tokens: Who has the tokens.
  ///   - capability: What to ask the broker for.
  ///   - http: Who sends the requests.
  ///   - baseURL: Where the service is.
  ///   - timeout: How long a request may take.
  ///   - log: Where to write that a request is made.
  public init(
    tokens: any CloudTokenProviding, capability: String = "", http: any HTTPExchanging = URLSessionExchange(),
    baseURL: String = "https://speech.googleapis.com", timeout: Duration = .seconds(90), log: DebugLog = .none
  ) {
    service = GoogleService(
      name: "SpeechToText", baseURL: baseURL, capability: capability, tokens: tokens, http: http, timeout: timeout, log: log)
  }

  /// What is said in a piece of audio: at most 60 s and 10 MB of it.
  ///
  /// - Throws: ``GoogleError``; ``TokenBrokerError`` when there is no token; `CancellationError`.
  public func recognize(_ request: Request) async throws -> Transcript {
    Transcript(try await service.post("/v1/speech:recognize", request.json))
  }

  /// A piece of audio and how to listen to it.
  public struct Request: Sendable, Hashable {
    /// Where the audio is.
    public enum Audio: Sendable, Hashable {
      /// Here.
      case content([UInt8])
      /// In Google's storage: `gs://bucket/object`.
      case uri(String)
    }

    /// How samples are written, by Google's names.
    public enum Encoding: String, Sendable, Hashable {
      /// 16 bit, little endian, uncompressed.
      case linear16 = "LINEAR16"
      /// FLAC.
      case flac = "FLAC"
      /// 8 bit, µ-law.
      case mulaw = "MULAW"
      /// AMR narrow band.
      case amr = "AMR"
      /// AMR wide band.
      case amrWB = "AMR_WB"
      /// Opus in Ogg.
      case oggOpus = "OGG_OPUS"
      /// Opus in WebM.
      case webmOpus = "WEBM_OPUS"
      /// MP3.
      case mp3 = "MP3"
    }

    /// The audio.
    public var audio: Audio
    /// How its samples are written; nil for FLAC and WAV, which say so themselves.
    public var encoding: Encoding?
    /// Samples per second; nil for FLAC and WAV.
    public var sampleRate: Int?
    /// What is spoken: `en-US`.
    public var language: String
    /// What may be spoken as well.
    public var alternativeLanguages: [String] = []
    /// The model: `latest_long`. Google's default when nil.
    public var model: String?
    /// Whether to put in punctuation.
    public var punctuates = true
    /// Whether to tell when each word was said.
    public var timesWords = false
    /// Whether to mask bad words.
    public var filtersProfanity = false
    /// Words and phrases that are likely.
    public var phrases: [String] = []
    /// The most wordings to tell; Google's default is one.
    public var maximumAlternatives: Int?

    /// A request for audio in one language.
    public init(_ audio: Audio, encoding: Encoding? = nil, sampleRate: Int? = nil, language: String = "en-US") {
      self.audio = audio
      self.encoding = encoding
      self.sampleRate = sampleRate
      self.language = language
    }

    var json: JSONValue {
      var config: JSONObject = ["languageCode": .string(language), "enableAutomaticPunctuation": .bool(punctuates)]
      config["encoding"] = encoding.map { .string($0.rawValue) }
      config["sampleRateHertz"] = sampleRate.map { .number(JSONNumber($0)) }
      config["model"] = model.map(JSONValue.string)
      config["maxAlternatives"] = maximumAlternatives.map { .number(JSONNumber($0)) }
      if !alternativeLanguages.isEmpty {
        config["alternativeLanguageCodes"] = .array(alternativeLanguages.map(JSONValue.string))
      }
      if timesWords { config["enableWordTimeOffsets"] = true }
      if filtersProfanity { config["profanityFilter"] = true }
      if !phrases.isEmpty { config["speechContexts"] = [["phrases": .array(phrases.map(JSONValue.string))]] }
      let audio: JSONValue =
        switch audio {
        case .content(let bytes): ["content": .string(Data(bytes).base64EncodedString())]
        case .uri(let uri): ["uri": .string(uri)]
        }
      return ["config": .object(config), "audio": audio]
    }
  }

  /// What was said.
  public struct Transcript: Sendable, Hashable {
    /// One stretch of audio, with its most likely wording first.
    public struct Stretch: Sendable, Hashable {
      /// The wordings.
      public var alternatives: [Alternative]
      /// The language that was heard.
      public var language: String?
      /// Where in the audio it ends.
      public var end: Duration?
    }

    /// One way to read a stretch.
    public struct Alternative: Sendable, Hashable {
      /// The words.
      public var text: String
      /// How sure Google is, 0 to 1; nil when it does not say.
      public var confidence: Double?
      /// Each word with its time, if that was asked for.
      public var words: [Word]
    }

    /// A word with its time.
    public struct Word: Sendable, Hashable {
      /// The word.
      public var text: String
      /// When it begins.
      public var start: Duration?
      /// When it ends.
      public var end: Duration?
    }

    /// All stretches in order; none when nobody spoke.
    public var stretches: [Stretch]
    /// The audio that Google charges for.
    public var billedTime: Duration?

    /// The most likely wording of everything.
    public var text: String { stretches.compactMap { $0.alternatives.first?.text }.joined() }

    init(_ json: JSONValue) {
      func duration(_ value: JSONValue?) -> Duration? { value?.string.flatMap(GoogleError.duration) }
      stretches = (json["results"]?.array ?? []).map { result in
        let alternatives = (result["alternatives"]?.array ?? []).map { alternative in
          Alternative(
            text: alternative["transcript"]?.string ?? "", confidence: alternative["confidence"]?.number?.double,
            words: (alternative["words"]?.array ?? []).map {
              Word(text: $0["word"]?.string ?? "", start: duration($0["startTime"]), end: duration($0["endTime"]))
            })
        }
        return Stretch(
          alternatives: alternatives, language: result["languageCode"]?.string, end: duration(result["resultEndTime"]))
      }
      billedTime = duration(json["totalBilledTime"])
    }
  }
}
