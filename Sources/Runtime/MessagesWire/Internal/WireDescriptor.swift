import CProtobufC
import MessagesCore
import Synchronization

/// protobuf-c's view of a message, derived from its ``MessageDescriptor`` at first use and kept for the life of the process.
///
/// protoc-c's own tables are not used: 1.4.1 refuses proto3 `optional` and truncates strings at NUL. Here strings are declared
/// as bytes (the same on the wire) and everything with presence has a flag.
enum WireDescriptor {
  private static let building = Mutex<Void>(())

  /// The descriptor for protobuf-c.
  @inline(__always)
  static func of(_ descriptor: MessageDescriptor) -> UnsafePointer<ProtobufCMessageDescriptor> {
    let handle = descriptor.wireHandle.load(ordering: .acquiring)
    if let known = UnsafePointer<ProtobufCMessageDescriptor>(bitPattern: handle) { return known }
    return build(descriptor)
  }

  /// The table for the pre-scan; protobuf-c leaves `reserved1` to its users.
  @inline(__always)
  static func scanTable(_ descriptor: UnsafePointer<ProtobufCMessageDescriptor>) -> UnsafePointer<ScanTable> {
    UnsafePointer(descriptor.pointee.reserved1.unsafelyUnwrapped.assumingMemoryBound(to: ScanTable.self))
  }

  private static func build(_ root: MessageDescriptor) -> UnsafePointer<ProtobufCMessageDescriptor> {
    building.withLock { _ in
      var builder = WireDescriptorBuilder()
      let built = builder.descriptor(for: root)
      // Published only once every message that can be reached is complete: other threads follow the pointers at once.
      builder.publish()
      return UnsafePointer(built)
    }
  }
}

/// Builds the descriptors of a message and of everything that it can contain.
///
/// Without recursion: descriptors may come from outside, and a chain of types may be as long as its sender likes.
struct WireDescriptorBuilder {
  private typealias CMessage = UnsafeMutablePointer<ProtobufCMessageDescriptor>
  private var built: [ObjectIdentifier: (descriptor: MessageDescriptor, c: UnsafeMutablePointer<ProtobufCMessageDescriptor>)] =
    [:]
  /// Messages that have their place in memory and nothing in it yet.
  private var open: [(descriptor: MessageDescriptor, c: UnsafeMutablePointer<ProtobufCMessageDescriptor>)] = []

  mutating func descriptor(for root: MessageDescriptor) -> UnsafeMutablePointer<ProtobufCMessageDescriptor> {
    let c = place(for: root)
    while let (descriptor, c) = open.popLast() { complete(c, descriptor) }
    return c
  }

  /// Where the descriptor of a message is or will be.
  private mutating func place(for descriptor: MessageDescriptor) -> UnsafeMutablePointer<ProtobufCMessageDescriptor> {
    let handle = descriptor.wireHandle.load(ordering: .acquiring)
    if let known = CMessage(bitPattern: handle) { return known }
    if let started = built[ObjectIdentifier(descriptor)] { return started.c }
    let c = CMessage.allocate(capacity: 1)
    c.initialize(to: ProtobufCMessageDescriptor())
    c.pointee.reserved1 = UnsafeMutableRawPointer(UnsafeMutablePointer<ScanTable>.allocate(capacity: 1))
    built[ObjectIdentifier(descriptor)] = (descriptor, c)
    open.append((descriptor, c))
    return c
  }

  private mutating func complete(
    _ c: UnsafeMutablePointer<ProtobufCMessageDescriptor>, _ descriptor: MessageDescriptor
  ) {
    let table = c.pointee.reserved1.unsafelyUnwrapped.assumingMemoryBound(to: ScanTable.self)
    table.initialize(to: scanTable(for: descriptor))
    let fields = UnsafeMutablePointer<ProtobufCFieldDescriptor>.allocate(capacity: max(descriptor.fields.count, 1))
    for (index, field) in descriptor.fields.enumerated() {
      (fields + index).initialize(to: cField(field))
    }
    let (ranges, rangeCount) = ranges(of: descriptor.fields)
    let name = immortal(descriptor.name)
    c.pointee.magic = UInt32(PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC)
    c.pointee.name = name
    c.pointee.short_name = name
    c.pointee.c_name = name
    c.pointee.package_name = name
    c.pointee.sizeof_message = descriptor.slotSize
    c.pointee.n_fields = UInt32(descriptor.fields.count)
    c.pointee.fields = UnsafePointer(fields)
    c.pointee.n_field_ranges = rangeCount
    c.pointee.field_ranges = UnsafePointer(ranges)
  }

  func publish() {
    for (_, entry) in built {
      entry.descriptor.wireHandle.store(UInt(bitPattern: entry.c), ordering: .releasing)
    }
  }

  private mutating func cField(_ field: FieldDescriptor) -> ProtobufCFieldDescriptor {
    var c = ProtobufCFieldDescriptor()
    c.name = immortal(field.name)
    c.id = UInt32(field.number)
    c.offset = UInt32(field.offset)
    switch field.kind {
    case .scalar(let scalar): c.type = scalar.cType
    case .enumeration: c.type = PROTOBUF_C_TYPE_ENUM
    case .message(let child):
      c.type = PROTOBUF_C_TYPE_MESSAGE
      c.descriptor = UnsafeRawPointer(place(for: child()))
    }
    switch field.shape {
    case .implicit(let has):
      c.label = has == 0 ? PROTOBUF_C_LABEL_NONE : PROTOBUF_C_LABEL_OPTIONAL
      c.quantifier_offset = UInt32(has)
    case .optional(let has):
      c.label = PROTOBUF_C_LABEL_OPTIONAL
      c.quantifier_offset = UInt32(has)
    case .oneof(let caseAt):
      c.label = PROTOBUF_C_LABEL_OPTIONAL
      c.quantifier_offset = UInt32(caseAt)
      c.flags = UInt32(PROTOBUF_C_FIELD_FLAG_ONEOF.rawValue)
    case .repeated(let packed):
      c.label = PROTOBUF_C_LABEL_REPEATED
      c.quantifier_offset = UInt32(field.countOffset)
      c.flags = packed ? UInt32(PROTOBUF_C_FIELD_FLAG_PACKED.rawValue) : 0
    case .map:
      c.label = PROTOBUF_C_LABEL_REPEATED
      c.quantifier_offset = UInt32(field.countOffset)
    }
    return c
  }

  /// Runs of consecutive numbers, closed by an entry that gives the number of fields: protobuf-c's way to look fields up.
  private func ranges(of fields: [FieldDescriptor]) -> (UnsafeMutablePointer<ProtobufCIntRange>, UInt32) {
    var ranges: [ProtobufCIntRange] = []
    for (index, field) in fields.enumerated() where index == 0 || fields[index - 1].number + 1 != field.number {
      ranges.append(ProtobufCIntRange(start_value: field.number, orig_index: UInt32(index)))
    }
    let count = UInt32(ranges.count)
    ranges.append(ProtobufCIntRange(start_value: 0, orig_index: UInt32(fields.count)))
    let memory = UnsafeMutablePointer<ProtobufCIntRange>.allocate(capacity: ranges.count)
    memory.initialize(from: ranges, count: ranges.count)
    return (memory, count)
  }

  private mutating func scanTable(for descriptor: MessageDescriptor) -> ScanTable {
    var scanFields: [ScanField] = []
    var singularMessages = 0
    for field in descriptor.fields {
      var scan = ScanField(number: UInt32(field.number))
      var isRepeated = false
      switch field.shape {
      case .repeated, .map: isRepeated = true
      case .oneof(let caseAt): scan.oneof = UInt32(caseAt)
      case .implicit, .optional: break
      }
      switch field.kind {
      case .enumeration: scan.wireTypes = isRepeated ? 0b101 : 0b001
      case .scalar(let scalar):
        let isPackable = scalar != .string && scalar != .bytes
        scan.wireTypes = 1 << scalar.wireType | (isRepeated && isPackable ? 0b100 : 0)
        scan.kind = scalar == .string ? .text : scalar == .bytes ? .bytes : .scalar
      case .message(let child):
        scan.wireTypes = 0b100
        scan.kind = isRepeated ? .messages : .message
        if !isRepeated {
          // Beyond 64 the last bit is shared, which only sends more messages the careful way.
          scan.seenBit = UInt8(min(singularMessages, 63))
          singularMessages += 1
        }
        scan.child = WireDescriptor.scanTable(place(for: child()))
      }
      scanFields.append(scan)
    }
    return ScanTable(scanFields)
  }

  private func immortal(_ text: String) -> UnsafePointer<CChar> {
    let utf8 = Array(text.utf8CString)
    let memory = UnsafeMutablePointer<CChar>.allocate(capacity: utf8.count)
    memory.initialize(from: utf8, count: utf8.count)
    return UnsafePointer(memory)
  }
}

extension ScanTable {
  fileprivate init(_ fields: [ScanField]) {
    let small = fields.filter { $0.number < Self.denseLimit }
    let large = fields.filter { $0.number >= Self.denseLimit }
    denseCount = (small.last?.number).map { $0 + 1 } ?? 0
    dense = .allocate(capacity: max(Int(denseCount), 1))
    dense.initialize(repeating: ScanField(), count: max(Int(denseCount), 1))
    for field in small { dense[Int(field.number)] = field }
    sparse = .allocate(capacity: large.count)
    _ = sparse.initialize(from: large)
  }
}

extension FieldDescriptor.Scalar {
  fileprivate var cType: ProtobufCType {
    switch self {
    case .int32: PROTOBUF_C_TYPE_INT32
    case .sint32: PROTOBUF_C_TYPE_SINT32
    case .sfixed32: PROTOBUF_C_TYPE_SFIXED32
    case .int64: PROTOBUF_C_TYPE_INT64
    case .sint64: PROTOBUF_C_TYPE_SINT64
    case .sfixed64: PROTOBUF_C_TYPE_SFIXED64
    case .uint32: PROTOBUF_C_TYPE_UINT32
    case .fixed32: PROTOBUF_C_TYPE_FIXED32
    case .uint64: PROTOBUF_C_TYPE_UINT64
    case .fixed64: PROTOBUF_C_TYPE_FIXED64
    case .float: PROTOBUF_C_TYPE_FLOAT
    case .double: PROTOBUF_C_TYPE_DOUBLE
    case .bool: PROTOBUF_C_TYPE_BOOL
    case .string, .bytes: PROTOBUF_C_TYPE_BYTES
    }
  }

  fileprivate var wireType: UInt8 {
    switch self {
    case .int32, .sint32, .int64, .sint64, .uint32, .uint64, .bool: 0
    case .sfixed64, .fixed64, .double: 1
    case .string, .bytes: 2
    case .sfixed32, .fixed32, .float: 5
    }
  }
}
