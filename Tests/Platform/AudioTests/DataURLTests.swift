import Audio
import Testing

@Suite("Audio: data URLs") struct DataURLTests {
  @Test("What the app sends is read: type, parameters and bytes")
  func read() throws {
    let url = try DataURL(parsing: "data:audio/m4a;base64,AAECAwQ=")
    #expect(url.mediaType == "audio/m4a" && url.parameters.isEmpty && url.bytes == [0, 1, 2, 3, 4])
    let other = try DataURL(parsing: "DATA:Audio/WebM;Codecs=opus;x=\"a b\";BASE64,AAEC")
    #expect(other.mediaType == "audio/webm" && other.parameters == ["codecs": "opus", "x": "a b"] && other.bytes == [0, 1, 2])
    #expect(DataURL.isDataURL("data:") && !DataURL.isDataURL("https://x") && !DataURL.isDataURL("dat"))
  }

  @Test("Whatever is written is read as it was")
  func roundTrip() throws {
    for count in [1, 2, 3, 4, 5, 255, 256, 1000, 65_537] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 8) }
      let url = try DataURL(parsing: DataURL.encode(bytes, mediaType: "audio/mp4"))
      #expect(url.bytes == bytes && url.mediaType == "audio/mp4")
    }
  }

  @Test(
    "Each defect has a name of its own",
    arguments: [
      ("", .notADataURL), ("https://example.com/a.m4a", .notADataURL), (" data:audio/m4a;base64,AAEC", .notADataURL),
      ("data:", .noComma), ("data:audio/m4a;base64", .noComma),
      ("data:audio/m4a;x=" + String(repeating: "a", count: 300) + ";base64,AAEC", .headerTooLong),
      ("data:,AAEC", .notBase64), ("data:audio/m4a,AAEC", .notBase64), ("data:audio/m4a;base64;x=y,AAEC", .notBase64),
      ("data:audio/m4a;base65,AAEC", .notBase64), ("data:;base64,AAEC", .invalidMediaType),
      ("data:audio;base64,AAEC", .invalidMediaType),
      ("data:audio/;base64,AAEC", .invalidMediaType), ("data:audio/m4a/b;base64,AAEC", .invalidMediaType),
      ("data:au dio/m4a;base64,AAEC", .invalidMediaType), ("data:audio/m4ä;base64,AAEC", .invalidMediaType),
      ("data:audio/m4a;;base64,AAEC", .invalidParameter), ("data:audio/m4a;x;base64,AAEC", .invalidParameter),
      ("data:audio/m4a;x=;base64,AAEC", .invalidParameter), ("data:audio/m4a;=y;base64,AAEC", .invalidParameter),
      ("data:audio/m4a;x=1;X=2;base64,AAEC", .invalidParameter), ("data:audio/m4a;x=\"a\"b\";base64,AAEC", .invalidParameter),
      ("data:audio/m4a;base64,", .empty), ("data:audio/m4a;base64,AAE", .invalidBase64),
      ("data:audio/m4a;base64,AAE-", .invalidBase64),
      ("data:audio/m4a;base64,AA EC", .invalidBase64), ("data:audio/m4a;base64,AAEC\n", .invalidBase64),
      ("data:audio/m4a;base64,AAF=", .invalidBase64), ("data:audio/m4a;base64,AB==", .invalidBase64),
      ("data:audio/m4a;base64,A===", .invalidBase64), ("data:audio/m4a;base64,====", .invalidBase64),
      ("data:audio/m4a;base64,AA==AAEC", .invalidBase64), ("data:audio/m4a;base64,AAEC%3D", .invalidBase64),
      ("data:audio/m4a;base64,ÄAEC", .invalidBase64), ("data:audio/m4a;base64,AAA\u{0}", .invalidBase64),
    ] as [(String, DataURLError.Code)])
  func defects(text: String, code: DataURLError.Code) {
    let error = #expect(throws: DataURLError.self) { try DataURL(parsing: text) }
    #expect(error?.code == code)
  }

  @Test("O-41: content at the limit is read, one byte more is not decoded", arguments: [10, 11, 12])
  func limits(_ limit: Int) throws {
    for extra in [-1, 0] {
      let text = DataURL.encode([UInt8](repeating: 7, count: limit + extra), mediaType: "a/b")
      #expect(try DataURL(parsing: text, maximumBytes: limit).bytes.count == limit + extra)
    }
    for extra in [1, 2, 3, 1000] {
      let text = DataURL.encode([UInt8](repeating: 7, count: limit + extra), mediaType: "a/b")
      #expect(#expect(throws: DataURLError.self) { try DataURL(parsing: text, maximumBytes: limit) }?.code == .tooLarge)
    }
  }

  @Test("O-41: a recording of 10 MiB comes through whole, and one byte more is too large")
  func large() throws {
    var bytes = [UInt8](repeating: 0x5a, count: AudioLimits.maximumFileSize)
    #expect(try DataURL(parsing: DataURL.encode(bytes, mediaType: "audio/m4a")).bytes == bytes)
    bytes.append(0)
    let text = DataURL.encode(bytes, mediaType: "audio/m4a")
    #expect(#expect(throws: DataURLError.self) { try DataURL(parsing: text) }?.code == .tooLarge)
  }
}
