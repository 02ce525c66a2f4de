/// The encoding of queries and of form bodies: names and values between `=` and `&`, with `%XX` for what could mean something.
package enum QueryEncoding {
  /// Everything but the unreserved characters of RFC 3986, section 2.3, as `%XX`.
  @inlinable
  package static func encode(_ bytes: some Collection<UInt8>) -> String {
    let escaped = PercentEncoding.escaped(bytes) { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
        true
      default: false
      }
    }
    return String(decoding: escaped, as: UTF8.self)
  }

  /// The names and values in their order, decoded; a plus is a blank. Never fails: what is no escape stays as it is.
  @inlinable
  package static func parameters<Text: RandomAccessCollection<UInt8>>(
    _ text: Text
  ) -> [(name: [UInt8], value: [UInt8])] where Text.Index == Int {
    let blank = UInt8(ascii: " ")
    return text.split(separator: UInt8(ascii: "&")).map { pair in
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      return (
        PercentEncoding.unescaped(parts[0], plus: blank),
        parts.count > 1 ? PercentEncoding.unescaped(parts[1], plus: blank) : []
      )
    }
  }
}
