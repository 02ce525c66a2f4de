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
    switch ExtensionFields(method.options?.unknownFields).number(number) {
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
}
