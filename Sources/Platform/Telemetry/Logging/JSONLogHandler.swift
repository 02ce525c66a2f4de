internal import JSON
public import Logging

/// A swift-log backend that writes one JSON object per line: `time`, `level`, `logger`, `message`, `error`, then the metadata,
/// flattened, with every secret taken out by ``Redactor``.
///
/// A metadata field that is called like one of the first five is written as `metadata.<name>`. Of a string beyond 8 KiB the
/// rest is left out. What the provider gives (request and trace ids) comes first, then the logger's own, then the line's;
/// the last one of a name wins.
public struct JSONLogHandler: LogHandler {
  /// The least level that is written.
  public var logLevel: Logger.Level
  /// The fields of every line.
  public var metadata: Logger.Metadata = [:]
  /// Gives fields that belong to the task: ids of the request and its trace.
  public var metadataProvider: Logger.MetadataProvider?
  private let label: String
  private let sink: LogSink
  private let clock: @Sendable () -> Int

  /// A handler for one logger.
  ///
  /// - Parameters:
  ///   - label: The logger's name in each line.
  ///   - sink: Where the lines go.
  ///   - level: What is less is not written.
  ///   - metadataProvider: Fields that belong to the task that logs.
  ///   - clock: Nanoseconds since 1970; the machine's clock unless a test gives its own.
  public init(
    label: String, sink: LogSink, level: Logger.Level = .info, metadataProvider: Logger.MetadataProvider? = nil,
    clock: (@Sendable () -> Int)? = nil
  ) {
    self.label = LogText.clean(label)
    self.sink = sink
    self.metadataProvider = metadataProvider
    self.clock = clock ?? { TimestampCache.now() }
    logLevel = level
  }

  /// One field of every line.
  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  /// Writes one line.
  public func log(event: LogEvent) {
    // The logger has asked already; who calls the handler itself is held to the level too.
    guard event.level >= logLevel else { return }
    sink.line(isUrgent: event.level >= .error) { bytes in
      var writer = JSONWriter(appendingTo: bytes)
      bytes = []
      write(event, with: &writer)
      bytes = writer.bytes
    }
  }

  private func write(_ event: LogEvent, with writer: inout JSONWriter) {
    var time: [UInt8] = []
    var cache = TimestampCache()
    LineWriter.append(to: &time, atMost: TimestampCache.longest + 2) { line in
      line.append("\"")
      cache.append(clock(), to: &line)
      line.append("\"")
    }
    writer.beginObject()
    writer.name("time")
    writer.verbatim(time)
    writer.name("level")
    writer.string(event.level.rawValue)
    writer.name("logger")
    writer.string(label)
    writer.name("message")
    writer.string(LogText.clean(event.message.description))
    if let error = event.error {
      writer.name("error")
      writer.string(LogText.clean("\(error)"))
    }
    var fields = metadataProvider?.get() ?? [:]
    fields.merge(metadata) { $1 }
    if let own = event.metadata { fields.merge(own) { $1 } }
    // In order of their names, so that equal lines are equal bytes.
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      writer.name(Self.reserved.contains(name) ? "metadata.\(name)" : LogText.clean(name))
      write(value, named: name, with: &writer, depth: 0)
    }
    writer.endObject()
    writer.endLine()
  }

  private func write(_ value: Logger.MetadataValue, named name: String, with writer: inout JSONWriter, depth: Int) {
    guard depth < 8, !Redactor.isSecretName(name) else { return writer.string(depth < 8 ? Redactor.mark : "…") }
    switch value {
    case .string(let text): writer.string(LogText.clean(text))
    case .stringConvertible(let value): writer.string(LogText.clean(value.description))
    case .array(let values):
      writer.beginArray()
      for value in values { write(value, named: "", with: &writer, depth: depth + 1) }
      writer.endArray()
    case .dictionary(let fields):
      writer.beginObject()
      for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
        writer.name(LogText.clean(name))
        write(value, named: name, with: &writer, depth: depth + 1)
      }
      writer.endObject()
    }
  }

  private static let reserved: Set<String> = ["time", "level", "logger", "message", "error"]
}
