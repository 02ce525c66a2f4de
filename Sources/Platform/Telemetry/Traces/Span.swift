internal import EventLoop
internal import Synchronization

/// Something that is being done from a moment on, on behalf of a request.
///
/// Most are not recorded: those only carry the trace's name to logs and to other processes, and everything said to them is
/// forgotten at once. Ending twice is ending once; a span that nobody ends is not exported. May be used from any thread.
public final class Span: Sendable {
  /// What goes to whoever is asked to do a part of it.
  public let context: SpanContext
  /// Whether what is said to it is kept.
  public var isRecorded: Bool { recording != nil }

  private let parent: SpanContext?
  private let recording: Recording?

  /// What only a recorded span has.
  private final class Recording: Sendable {
    struct Said {
      var name: String
      var attributes: [(name: String, value: SpanAttribute)] = []
      var dropped = 0
      var failure: String?
      var hasEnded = false
    }

    let kind: SpanKind
    let start: UInt64
    let startInstant: MonotonicInstant
    let sink: any SpanSink
    let said: Mutex<Said>

    init(_ name: String, _ kind: SpanKind, start: UInt64, at instant: MonotonicInstant, _ sink: any SpanSink) {
      self.kind = kind
      self.start = start
      startInstant = instant
      self.sink = sink
      said = Mutex(Said(name: name))
    }
  }

  /// The span that the current task works for.
  @TaskLocal public static var current: Span?

  /// The most attributes that a span keeps.
  public static let attributeLimit = 64
  /// The most bytes of a text that a span keeps.
  public static let textLimit = 4 << 10

  /// A span that is not recorded.
  init(_ context: SpanContext, parent: SpanContext?) {
    self.context = context
    self.parent = parent
    recording = nil
  }

  /// A span that is recorded.
  init(
    _ context: SpanContext, parent: SpanContext?, _ name: String, _ kind: SpanKind, start: UInt64, at instant: MonotonicInstant,
    _ sink: any SpanSink
  ) {
    self.context = context
    self.parent = parent
    recording = Recording(name, kind, start: start, at: instant, sink)
  }

  /// Says something about what is done; the last word on a name counts. Text is cut after 4 KiB, and what looks like a secret is
  /// taken out of it.
  public func set(_ name: String, _ value: SpanAttribute) {
    guard recording != nil else { return }
    if case .string(let text) = value { put(name, .string(Redactor.redact(text))) } else { put(name, value) }
  }

  /// Says which statement of a database is run: text of the program's own, in which nobody looks for secrets.
  public func setStatement(_ text: String) { put("db.query.text", .string(text)) }

  /// The same for text that is the program's own, so that nobody looks for secrets in it.
  func put(_ name: String, _ value: SpanAttribute) {
    guard let recording else { return }
    var value = value
    if case .string(let text) = value, text.utf8.count > Self.textLimit {
      value = .string(String(decoding: text.utf8.prefix(Self.textLimit), as: UTF8.self))
    }
    recording.said.withLock { said in
      if let index = said.attributes.firstIndex(where: { $0.name == name }) {
        said.attributes[index].value = value
      } else if said.attributes.count < Self.attributeLimit {
        said.attributes.append((name, value))
      } else {
        said.dropped += 1
      }
    }
  }

  /// Says that it failed; what looks like a secret is taken out of `reason`.
  public func fail(_ reason: String) {
    guard let recording else { return }
    let reason = LogText.clean(reason)
    recording.said.withLock { $0.failure = reason }
  }

  /// Ends it, now or at a moment that has passed.
  public func end() { end(at: .now()) }

  func end(at instant: MonotonicInstant) {
    guard let recording else { return }
    let said = recording.said.withLock { said -> Recording.Said? in
      guard !said.hasEnded else { return nil }
      said.hasEnded = true
      return said
    }
    guard let said else { return }
    let taken =
      instant.nanoseconds > recording.startInstant.nanoseconds ? instant.nanoseconds - recording.startInstant.nanoseconds : 0
    recording.sink.take(
      SpanRecord(
        context: context, parent: parent, name: said.name, kind: recording.kind, start: recording.start,
        end: recording.start &+ taken, attributes: said.attributes, droppedAttributes: said.dropped, failure: said.failure))
  }
}
