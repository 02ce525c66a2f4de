import ConnectWire
import RPC
import Testing

@Suite("Queries and prefixes")
struct QueryEncodingTests {
  @Test("All but the unreserved characters of RFC 3986, section 2.3, are escaped")
  func encode() {
    #expect(QueryEncoding.encode(Array("AZaz09-._~".utf8)) == "AZaz09-._~")
    #expect(QueryEncoding.encode(Array("ä & b=1+%".utf8)) == "%C3%A4%20%26%20b%3D1%2B%25")
    #expect(QueryEncoding.encode([0, 127, 255]) == "%00%7F%FF")
    #expect(QueryEncoding.encode([]) == "")
  }

  @Test("What was escaped comes back, every byte")
  func roundTrip() {
    let bytes = Array(UInt8.min...UInt8.max)
    let parameters = QueryEncoding.parameters(Array("all=\(QueryEncoding.encode(bytes))".utf8))
    #expect(parameters.map(\.value) == [bytes])
  }

  @Test(
    "Names and values come in their order, and what is no escape stays as it is",
    arguments: [
      ("", []), ("&&", []), ("a", [("a", "")]), ("a=", [("a", "")]), ("=a", [("", "a")]), ("a=b=c", [("a", "b=c")]),
      ("a=1&b=2&a=3", [("a", "1"), ("b", "2"), ("a", "3")]), ("a+b=c%2Bd+e", [("a b", "c+d e")]),
      ("a=%4", [("a", "%4")]), ("a=%", [("a", "%")]), ("a=%zz%41", [("a", "%zzA")]), ("%61%3d=%26", [("a=", "&")]),
    ] as [(String, [(String, String)])])
  func parameters(query: String, expected: [(String, String)]) {
    let found = QueryEncoding.parameters(Array(query.utf8))
    #expect(found.map { String(decoding: $0.name, as: UTF8.self) } == expected.map(\.0))
    #expect(found.map { String(decoding: $0.value, as: UTF8.self) } == expected.map(\.1))
  }

  @Test("A plus in a status message is a plus")
  func statusMessage() {
    #expect(PercentEncoding.decode(Array("1+1%20=%202".utf8)) == "1+1 = 2")
  }

  @Test("The prefix of an envelope is read from five bytes, not from four, wherever it begins")
  func prefix() {
    let bytes: [UInt8] = [9, 9, 0x81, 0xff, 0, 1, 2, 7]
    bytes.withUnsafeBytes { bytes in
      #expect(Envelope.prefix(of: bytes, at: 4) == nil)
      let envelope = Envelope.prefix(of: bytes, at: 2)
      #expect(envelope?.flags == 0x81)
      #expect(envelope?.count == 0xff00_0102)
      #expect(envelope?.isCompressed == true)
      #expect(Envelope.prefix(of: UnsafeRawBufferPointer(rebasing: bytes[3...]), at: 0)?.flags == 0xff)
    }
  }
}
