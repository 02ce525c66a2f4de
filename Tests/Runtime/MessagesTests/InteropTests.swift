import MessagesCore
import MessagesWire
import TestAPI
import Testing

@Suite("Another implementation's messages are read, and ours are the same")
struct InteropTests {
  @Test("Wire format and JSON written by Python say the same", arguments: PythonFixtures.cases.indices)
  func same(index: Int) throws {
    let (name, base64, json) = PythonFixtures.cases[index]
    let bytes = try #require(Bytes(base64: base64))
    let fromWire = try Everything(protobuf: bytes)
    let fromJSON = try Everything(jsonString: json)
    #expect(fromWire == fromJSON, "\(name)")
    #expect(fromWire.unknownFields.isEmpty)
    #expect(try Everything(jsonString: fromWire.jsonString()) == fromWire)
    // One entry in each map, so the bytes have only one order.
    #expect(try fromJSON.protobufBytes() == [UInt8](bytes), "\(name)")
  }
}
