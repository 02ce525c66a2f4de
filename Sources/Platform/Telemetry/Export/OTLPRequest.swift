internal import MessagesCore
internal import WellKnown

/// Spans as the OpenTelemetry protocol spells them.
enum OTLPRequest {
  typealias Request = OpenTelemetryProtoCollectorTraceV1.ExportTraceServiceRequest
  private typealias Attribute = OpenTelemetryProtoCommonV1.KeyValue
  private typealias Wire = OpenTelemetryProtoTraceV1

  /// One request with these spans of one resource.
  static func make(_ spans: [SpanRecord], _ resource: [(name: String, value: SpanAttribute)]) -> Request {
    let scope = Wire.ScopeSpans(scope: .init(name: "parley"), spans: spans.map(span))
    return Request(
      resourceSpans: [Wire.ResourceSpans(resource: .init(attributes: resource.map(attribute)), scopeSpans: [scope])])
  }

  private static func span(_ record: SpanRecord) -> Wire.Span {
    var span = Wire.Span()
    span.traceID = Bytes(record.context.traceID.bytes)
    span.spanID = Bytes(record.context.spanID.bytes)
    span.traceState = record.context.state
    // Bit 8: it is known whether the parent is elsewhere; bit 9: it is.
    span.flags = (record.context.isSampled ? 1 : 0) | 0x100
    if let parent = record.parent {
      span.parentSpanID = Bytes(parent.spanID.bytes)
      if parent.isRemote { span.flags |= 0x200 }
    }
    span.name = record.name
    span.kind = .init(rawValue: record.kind.rawValue)
    span.startTimeUnixNano = record.start
    span.endTimeUnixNano = record.end
    span.attributes = record.attributes.map(attribute)
    span.droppedAttributesCount = UInt32(clamping: record.droppedAttributes)
    if let failure = record.failure { span.status = .init(message: failure, code: .error) }
    return span
  }

  private static func attribute(_ attribute: (name: String, value: SpanAttribute)) -> Attribute {
    var value = OpenTelemetryProtoCommonV1.AnyValue()
    switch attribute.value {
    case .string(let text): value.value = .stringValue(text)
    case .int(let number): value.value = .intValue(number)
    case .double(let number): value.value = .doubleValue(number)
    case .bool(let truth): value.value = .boolValue(truth)
    }
    return Attribute(key: attribute.name, value: value)
  }
}
