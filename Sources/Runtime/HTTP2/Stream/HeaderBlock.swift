internal import Glibc

/// The header fields that RPC looks at by name; all others are only passed on.
package enum HeaderToken: UInt8, CaseIterable, Sendable {
  case other, method, path, scheme, authority, status, contentType, te, timeout, encoding, acceptEncoding, grpcStatus,
    grpcMessage,
    grpcStatusDetails, authorization, userAgent, forwardedFor, origin, requestID, traceParent

  /// Recognises a name by its length and bytes.
  @inline(__always)
  static func of(_ name: UnsafePointer<UInt8>, _ count: Int) -> HeaderToken {
    switch count {
    case 2: matches(name, "te") ? .te : .other
    case 5: matches(name, ":path") ? .path : .other
    case 6: matches(name, "origin") ? .origin : .other
    case 7:
      switch name[1] {
      case UInt8(ascii: "m"): matches(name, ":method") ? .method : .other
      case UInt8(ascii: "s"): matches(name, ":scheme") ? .scheme : matches(name, ":status") ? .status : .other
      default: .other
      }
    case 10: matches(name, ":authority") ? .authority : matches(name, "user-agent") ? .userAgent : .other
    case 11: matches(name, "grpc-status") ? .grpcStatus : matches(name, "traceparent") ? .traceParent : .other
    case 12:
      switch name[0] {
      case UInt8(ascii: "c"): matches(name, "content-type") ? .contentType : .other
      case UInt8(ascii: "g"): matches(name, "grpc-timeout") ? .timeout : matches(name, "grpc-message") ? .grpcMessage : .other
      case UInt8(ascii: "x"): matches(name, "x-request-id") ? .requestID : .other
      default: .other
      }
    case 13: matches(name, "grpc-encoding") ? .encoding : matches(name, "authorization") ? .authorization : .other
    case 15: matches(name, "x-forwarded-for") ? .forwardedFor : .other
    case 20: matches(name, "grpc-accept-encoding") ? .acceptEncoding : .other
    case 23: matches(name, "grpc-status-details-bin") ? .grpcStatusDetails : .other
    default: .other
    }
  }

  /// The name; nil for ``other``.
  var name: StaticString? {
    switch self {
    case .other: nil
    case .method: ":method"
    case .path: ":path"
    case .scheme: ":scheme"
    case .authority: ":authority"
    case .status: ":status"
    case .contentType: "content-type"
    case .te: "te"
    case .timeout: "grpc-timeout"
    case .encoding: "grpc-encoding"
    case .acceptEncoding: "grpc-accept-encoding"
    case .grpcStatus: "grpc-status"
    case .grpcMessage: "grpc-message"
    case .grpcStatusDetails: "grpc-status-details-bin"
    case .authorization: "authorization"
    case .userAgent: "user-agent"
    case .forwardedFor: "x-forwarded-for"
    case .origin: "origin"
    case .requestID: "x-request-id"
    case .traceParent: "traceparent"
    }
  }

  @inline(__always)
  private static func matches(_ name: UnsafePointer<UInt8>, _ literal: StaticString) -> Bool {
    memcmp(name, literal.utf8Start, literal.utf8CodeUnitCount) == 0
  }
}

/// A received header list: all bytes in one run of memory, with a short-cut to the fields in ``HeaderToken``.
///
/// Kept and reused with its stream; what it hands out is valid until the stream ends.
package final class HeaderBlock {
  private struct Field {
    var offset: UInt32
    /// Bytes of the name in front of the value; a name that has a token is not stored.
    var nameCount: UInt16
    var valueCount: UInt32
    var token: HeaderToken
  }

  private var bytes: UnsafeMutablePointer<UInt8>
  private var byteCapacity = 1_024
  private var byteCount = 0
  private var fields: UnsafeMutablePointer<Field>
  private var fieldCapacity = 24
  /// How many fields there are.
  package private(set) var count = 0
  /// The size of the list as RFC 9113 counts it, also past the point where fields are no longer stored.
  package private(set) var listBytes = 0
  /// Whether the list was longer than allowed; the fields past the limit are missing.
  package private(set) var isTooLarge = false
  /// Values of `x-forwarded-for` past the limit, which say whose list it is: bytes that were kept, and whether some were not.
  private var lateForwardedForBytes = 0
  private var isForwardedForCut = false
  private static let mostLateForwardedForBytes = 1_024
  /// For each token the number of its first field plus one.
  private var first: (UInt64, UInt64, UInt64) = (0, 0, 0)

  package init() {
    bytes = .allocate(capacity: byteCapacity)
    fields = .allocate(capacity: fieldCapacity)
  }

  deinit {
    bytes.deallocate()
    fields.deallocate()
  }

  func reset() {
    byteCount = 0
    count = 0
    listBytes = 0
    isTooLarge = false
    lateForwardedForBytes = 0
    isForwardedForCut = false
    first = (0, 0, 0)
    if byteCapacity > 16 << 10 {
      bytes.deallocate()
      byteCapacity = 1_024
      bytes = .allocate(capacity: byteCapacity)
    }
  }

  /// Stores a field unless the list is too long already.
  ///
  /// - Returns: Whether it was stored.
  @inline(__always)
  func append(
    _ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>, _ valueCount: Int, limit: Int
  ) -> Bool {
    listBytes += nameCount + valueCount + 32
    guard listBytes <= limit else {
      isTooLarge = true
      if HeaderToken.of(name, nameCount) == .forwardedFor { keepForwardedFor(name, nameCount, value, valueCount) }
      return false
    }
    store(name, nameCount, value, valueCount)
    return true
  }

  /// The values of all `x-forwarded-for` fields in their order; nil when some of a list that is too long were not kept.
  var forwardedFor: [String]? {
    guard !isForwardedForCut else { return nil }
    let index = firstIndex(.forwardedFor)
    // Only the first 256 fields have a short-cut.
    guard index > 0 || count >= 256 else { return [] }
    return (max(index - 1, 0)..<count).filter { fields[$0].token == .forwardedFor }
      .map { String(decoding: value(of: fields[$0]), as: UTF8.self) }
  }

  /// A proxy adds its word at the end.
  private func keepForwardedFor(
    _ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>, _ valueCount: Int
  ) {
    guard valueCount <= Self.mostLateForwardedForBytes - lateForwardedForBytes else {
      isForwardedForCut = true
      return
    }
    lateForwardedForBytes += valueCount + 32
    store(name, nameCount, value, valueCount)
  }

  @inline(__always)
  private func store(_ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>, _ valueCount: Int) {
    // The limit bounds all sums below.
    if byteCount &+ nameCount &+ valueCount > byteCapacity { growBytes(nameCount + valueCount) }
    if count == fieldCapacity { growFields() }
    let token = HeaderToken.of(name, nameCount)
    let offset = byteCount
    if token == .other {
      memcpy(bytes + byteCount, name, nameCount)
      byteCount &+= nameCount
    }
    memcpy(bytes + byteCount, value, valueCount)
    byteCount &+= valueCount
    (fields + count).initialize(
      to: Field(
        offset: UInt32(truncatingIfNeeded: offset), nameCount: token == .other ? UInt16(truncatingIfNeeded: nameCount) : 0,
        valueCount: UInt32(truncatingIfNeeded: valueCount), token: token))
    count &+= 1
    if token != .other { noteFirst(token) }
  }

  /// The value of the first field of this name; nil when there is none.
  @inline(__always)
  package func value(_ token: HeaderToken) -> UnsafeRawBufferPointer? {
    let index = firstIndex(token)
    guard index > 0 else { return nil }
    return value(of: fields[index - 1])
  }

  /// Whether the first field of this name has exactly this value.
  @inline(__always)
  package func value(_ token: HeaderToken, is expected: StaticString) -> Bool {
    guard let value = value(token), value.count == expected.utf8CodeUnitCount, let base = value.baseAddress else { return false }
    return memcmp(base, expected.utf8Start, value.count) == 0
  }

  /// The value of the first field of this name as text.
  package func text(_ token: HeaderToken) -> String? { value(token).map { String(decoding: $0, as: UTF8.self) } }

  /// The value of the only field of this name; nil when there is none, or another one.
  package func soleValue(_ token: HeaderToken) -> UnsafeRawBufferPointer? {
    let index = firstIndex(token)
    guard index > 0 else { return nil }
    for other in index..<count where fields[other].token == token { return nil }
    return value(of: fields[index - 1])
  }

  /// The value of the only field of this name as text; nil when there is none, or another one.
  package func soleText(_ token: HeaderToken) -> String? { soleValue(token).map { String(decoding: $0, as: UTF8.self) } }

  /// The value of the first field of this lower-case name as text.
  package func text(named name: String) -> String? {
    var name = name
    return name.withUTF8 { wanted in
      guard let base = wanted.baseAddress else { return nil }
      let token = HeaderToken.of(base, wanted.count)
      guard token == .other else { return text(token) }
      for index in 0..<count where Int(fields[index].nameCount) == wanted.count && fields[index].token == .other {
        guard memcmp(bytes + Int(fields[index].offset), base, wanted.count) == 0 else { continue }
        return String(decoding: value(of: fields[index]), as: UTF8.self)
      }
      return nil
    }
  }

  /// Calls `body` with each field that is not one of the pseudo-header fields.
  package func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ token: HeaderToken) -> Void) {
    for index in 0..<count {
      let field = fields[index]
      if let name = field.token.name {
        guard name.utf8Start[0] != UInt8(ascii: ":") else { continue }
        body(UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value(of: field), field.token)
      } else {
        body(UnsafeRawBufferPointer(start: bytes + Int(field.offset), count: Int(field.nameCount)), value(of: field), .other)
      }
    }
  }

  private func value(of field: Field) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: bytes + Int(field.offset) + Int(field.nameCount), count: Int(field.valueCount))
  }

  // A byte for each of the twenty tokens, without an array: a list has at most 255 fields that count here.
  private func firstIndex(_ token: HeaderToken) -> Int {
    withUnsafeBytes(of: first) { Int($0[Int(token.rawValue)]) }
  }

  private func noteFirst(_ token: HeaderToken) {
    guard count < 256 else { return }
    withUnsafeMutableBytes(of: &first) { slots in
      if slots[Int(token.rawValue)] == 0 { slots[Int(token.rawValue)] = UInt8(count) }
    }
  }

  private func growBytes(_ extra: Int) {
    let capacity = max(byteCapacity * 2, byteCount + extra)
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    memcpy(larger, bytes, byteCount)
    bytes.deallocate()
    bytes = larger
    byteCapacity = capacity
  }

  private func growFields() {
    let larger = UnsafeMutablePointer<Field>.allocate(capacity: fieldCapacity * 2)
    larger.moveInitialize(from: fields, count: count)
    fields.deallocate()
    fields = larger
    fieldCapacity *= 2
  }
}
