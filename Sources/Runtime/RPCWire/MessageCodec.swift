/// How a message is written as bytes.
package enum MessageCodec: UInt8, Sendable, Hashable, CaseIterable {
  /// The binary format of protocol buffers.
  case proto
  /// proto3 JSON.
  case json

  /// The name that content types end in.
  package var name: String {
    switch self {
    case .proto: "proto"
    case .json: "json"
    }
  }

  /// The codec of a name; nil for one that is not spoken here.
  package init?(named name: some Collection<UInt8>) {
    if name.elementsEqual("proto".utf8) {
      self = .proto
    } else if name.elementsEqual("json".utf8) {
      self = .json
    } else {
      return nil
    }
  }
}
