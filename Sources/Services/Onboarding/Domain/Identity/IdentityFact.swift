/// A field of a person's identity with where it comes from.
public struct IdentityFact: Sendable, Hashable {
  /// Where a value comes from.
  public enum Source: String, Sendable, Hashable, CaseIterable {
    /// It is the answer to a step.
    case answer
    /// It is what was said in the recording of a step.
    case transcript
    /// A model concluded it.
    case model
    /// The person said so, whatever anybody concludes.
    case correction
  }

  /// The field.
  public var name: String
  /// Its value, not empty.
  public var value: String
  /// Where it comes from.
  public var source: Source
  /// The step; 0 where it is none's.
  public var step: Int
  /// The person's words that it was concluded from; empty where a model named none that the person said.
  public var quote: String
  /// The model; empty where none had a part.
  public var model: String

  /// A fact.
  public init(_ name: String, _ value: String, _ source: Source, step: Int = 0, quote: String = "", model: String = "") {
    self.name = name
    self.value = value
    self.source = source
    self.step = step
    self.quote = quote
    self.model = model
  }
}

/// What was answered to a step, as words.
public struct StatedAnswer: Sendable, Hashable {
  /// The step.
  public var step: Int
  /// What it is kept as.
  public var fields: [String]
  /// The words: what was typed or chosen, or what was said.
  public var text: String
  /// Whether they were spoken.
  public var isSpoken: Bool

  /// An answer.
  public init(step: Int, fields: [String], text: String, isSpoken: Bool) {
    self.step = step
    self.fields = fields
    self.text = text
    self.isSpoken = isSpoken
  }
}

/// What a model concluded of one field.
public struct Conclusion: Sendable, Hashable {
  /// The field.
  public var name: String
  /// Its value; empty where nothing was said about it.
  public var value: String
  /// The words that it rests on, as the model says.
  public var quote: String
  /// The step of the answer that they are from, as the model says; 0 where it names none.
  public var step: Int

  /// A conclusion.
  public init(_ name: String, _ value: String, quote: String = "", step: Int = 0) {
    self.name = name
    self.value = value
    self.quote = quote
    self.step = step
  }
}
