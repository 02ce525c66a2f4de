/// The words of a recording.
public struct Transcription: Sendable, Hashable {
  /// A stretch of it.
  public struct Segment: Sendable, Hashable {
    /// When it begins.
    public let start: Duration
    /// When it ends.
    public let end: Duration
    /// What is said in it.
    public let text: String
    /// How likely it is that nobody speaks, 0 to 1: models make up words for silence.
    public let noSpeechProbability: Double?
    /// The mean logarithm of the probabilities of its words; far below -1 it is a guess.
    public let averageLogProbability: Double?
  }

  /// What it cost.
  public enum Usage: Sendable, Hashable {
    /// So many seconds of sound.
    case duration(seconds: Double)
    /// So many tokens.
    case tokens(input: Int, output: Int)
  }

  /// The words, without blanks around them. Empty when nothing was heard.
  public let text: String
  /// The language as the server names it (`english`), where it says.
  public let language: String?
  /// How long the recording is, where the server says.
  public let duration: Duration?
  /// Its stretches, where the server tells them.
  public let segments: [Segment]
  /// What it cost, where the server says.
  public let usage: Usage?
  /// The model that was asked.
  public let model: String
  /// The server's id of the request, for its support.
  public let requestID: String?
}
