import MessagesCore
import WellKnown

/// The option `(parley.options.v1.access)` of a method.
///
/// It is an extension, so it arrives among the fields that `MethodOptions` does not know.
enum AccessOption {
  private static let number: UInt64 = 50001

  /// The case of `MethodAccess` that a method's option names.
  ///
  /// - Throws: ``GenerationError`` when a method of ours says nothing. Methods of others are public: they cannot say.
  static func access(
    of method: GoogleProtobuf.MethodDescriptorProto, in service: String, package: String
  ) throws(GenerationError) -> String {
    guard SwiftNames.namespace(ofPackage: package) == nil else { return "public" }
    switch value(in: method.options?.unknownFields ?? UnknownFields()) {
    case 1: return "public"
    case 2: return "device"
    case 3: return "googleIDToken"
    case 4: return "session"
    case 5: return "subscribed"
    case 6: return "admin"
    case 7: return "service"
    default:
      throw GenerationError("\(service).\(method.name ?? "") does not say who may call it: set option (parley.options.v1.access)")
    }
  }

  /// The last value of the extension; 0 if there is none. The fields are well-formed: they come from the decoder.
  private static func value(in fields: UnknownFields) -> UInt64 {
    var bytes = fields.bytes[...]
    var result: UInt64 = 0
    func varint() -> UInt64 {
      var value: UInt64 = 0
      var shift: UInt64 = 0
      while let byte = bytes.popFirst() {
        value |= UInt64(byte & 0x7f) << shift
        shift += 7
        if byte < 0x80 || shift > 63 { break }
      }
      return value
    }
    while !bytes.isEmpty {
      let tag = varint()
      switch tag & 7 {
      case 0:
        let value = varint()
        if tag >> 3 == number { result = value }
      case 1: bytes = bytes.dropFirst(8)
      case 2: bytes = bytes.dropFirst(Int(truncatingIfNeeded: varint() & 0x7fff_ffff))
      case 5: bytes = bytes.dropFirst(4)
      default: return result
      }
    }
    return result
  }
}
