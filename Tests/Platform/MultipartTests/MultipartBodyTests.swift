import Testing

@testable import Multipart

@Suite("Multipart: forms that are read") struct MultipartBodyTests {
  private static let type = "multipart/form-data; boundary=B"

  private static func read(
    _ body: String, _ type: String = type, _ limits: MultipartBody.Limits = .init()
  ) throws(MultipartError) -> MultipartBody {
    try MultipartBody(parsing: Array(body.utf8), contentType: type, limits: limits)
  }

  @Test("What curl and browsers write is read, whatever the case and order of headers")
  func foreign() throws {
    let body = try Self.read(
      "--B\r\ncontent-type: text/plain; charset=utf-8\r\nCONTENT-DISPOSITION: form-data;name=field\r\n\r\nhällo\r\n"
        + "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\\\"b\\\\c.wav\"\r\nX-Other: 1\r\n\r\n\r\n--A-\r\n--B--\r\n"
    )
    #expect(body.parts.map(\.name) == ["field", "f"])
    #expect(body["field"]?.text == "hällo" && body["field"]?.mediaType == "text/plain; charset=utf-8")
    #expect(body["f"]?.filename == "a\"b\\c.wav" && body["f"]?.text == "\r\n--A-")
    #expect(body["g"] == nil && body.all("f").count == 1)
    // A part without content, with and without the line end that stands for it, and no line end after the last boundary.
    let empty = try Self.read(
      "--B\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--B\r\nContent-Disposition: form-data; name=b\r\n\r\n--B--")
    #expect(empty.parts.map(\.bytes.count) == [0, 0])
    #expect(try Self.read("--B--\r\n").parts.isEmpty)
    #expect(try Self.read("--a b--", "Multipart/Form-Data; charset=x; boundary=\"a b\"").parts.isEmpty)
  }

  @Test("The parts share the body's storage: no byte is copied")
  func storage() throws {
    let bytes = Array("--B\r\nContent-Disposition: form-data; name=a\r\n\r\n0123456789\r\n--B--".utf8)
    let body = try MultipartBody(parsing: bytes, contentType: Self.type)
    let part = try #require(body["a"])
    #expect(part.bytes.startIndex == 47 && part.bytes.count == 10)
    part.bytes.withUnsafeBytes { slice in
      bytes.withUnsafeBytes { whole in #expect(slice.baseAddress == whole.baseAddress.map { $0 + 47 }) }
    }
  }

  @Test(
    "A content type that is none is refused",
    arguments: [
      ("application/json", .notMultipart), ("", .notMultipart), ("multipart/mixed; boundary=B", .notMultipart),
      ("multipart/form-data", .noBoundary), ("multipart/form-data; boundary=", .notMultipart),
      ("multipart/form-data; boundary=\"\"", .noBoundary), ("multipart/form-data; boundary=\"a\u{7f}\"", .noBoundary),
      ("multipart/form-data; boundary=B; boundary=C", .notMultipart), ("multipart/form-data; boundary=\"B", .notMultipart),
      ("multipart/form-data; boundary=" + String(repeating: "b", count: 71), .noBoundary),
      ("multipart/form-data; boundary=\"b \"", .noBoundary),
    ] as [(String, MultipartError.Code)])
  func types(type: String, code: MultipartError.Code) {
    let error = #expect(throws: MultipartError.self) { try Self.read("--B--", type) }
    #expect(error?.code == code)
  }

  @Test(
    "A body that is not whole or not right is refused",
    arguments: [
      ("", .malformed), ("--C--", .malformed), ("\r\n--B--", .malformed), ("preamble\r\n--B--", .malformed),
      ("--B", .truncated), ("--B\r", .truncated), ("--B\r\n", .truncated), ("--BX\r\n", .malformed), ("--B \r\n", .malformed),
      ("--B\r\nContent-Disposition: form-data; name=a\r\n", .truncated),
      ("--B\r\nContent-Disposition: form-data; name=a\r\n\r\nabc", .truncated),
      ("--B\r\nContent-Disposition: form-data; name=a\r\n\r\nabc\r\n--C--", .truncated),
      ("--B\r\nContent-Disposition: form-data; name=a\r\n\r\nabc\r\n--B", .truncated),
      ("--B\r\nContent-Disposition: form-data; name=a\r\n\r\nabc\r\n--B--x", .malformed),
      ("--B\r\n\r\nabc\r\n--B--", .malformed), ("--B\r\nContent-Disposition: form-data\r\n\r\n\r\n--B--", .malformed),
      ("--B\r\nContent-Disposition: attachment; name=a\r\n\r\n\r\n--B--", .malformed),
      ("--B\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\n\r\n--B--", .malformed),
      ("--B\r\nContent-Disposition: form-data; name=\"a\r\n\r\n\r\n--B--", .malformed),
      ("--B\r\nContent-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--B--", .malformed),
      ("--B\r\nContent-Disposition: form-data; name=a\r\nContent-Type: a/b\r\nContent-Type: a/b\r\n\r\n\r\n--B--", .malformed),
      ("--B\r\nno colon\r\n\r\n\r\n--B--", .malformed), ("--B\r\n: none\r\n\r\n\r\n--B--", .malformed),
      ("--B\r\nContent-Disposition: form-data;\u{0} name=a\r\n\r\n\r\n--B--", .malformed),
    ] as [(String, MultipartError.Code)])
  func bodies(body: String, code: MultipartError.Code) {
    let error = #expect(throws: MultipartError.self) { try Self.read(body) }
    #expect(error?.code == code)
  }

  @Test("Parts and headers are as many as the limits say, and not one more")
  func limits() throws {
    func form(_ parts: Int) -> String {
      String(repeating: "--B\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n", count: parts) + "--B--"
    }
    #expect(try Self.read(form(64)).parts.count == 64)
    #expect(#expect(throws: MultipartError.self) { try Self.read(form(65)) }?.code == .tooManyParts)
    let field = "Content-Disposition: form-data; name=a\r\n"
    func padded(_ bytes: Int) -> String {
      "--B\r\n\(field)X: \(String(repeating: "p", count: bytes - field.utf8.count - 7))\r\n\r\nx\r\n--B--"
    }
    #expect(try Self.read(padded(8 << 10)).parts.count == 1)
    #expect(#expect(throws: MultipartError.self) { try Self.read(padded(8 << 10 + 1)) }?.code == .headerTooLarge)
    let endless = "--B\r\n" + String(repeating: "h", count: 9000)
    #expect(#expect(throws: MultipartError.self) { try Self.read(endless) }?.code == .headerTooLarge)
  }
}
