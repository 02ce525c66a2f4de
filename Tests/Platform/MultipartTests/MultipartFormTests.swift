import Synchronization
import TestRandom
import Testing

@testable import Multipart

@Suite("Multipart: forms that are written") struct MultipartFormTests {
  @Test("A form is what RFC 7578 shows")
  func form() throws {
    var form = MultipartForm { "B" }
    form.addField("model", "whisper-1")
    form.addFile("file", filename: "a.m4a", mediaType: "audio/mp4", [0, 13, 10, 255])
    let content = form.encoded()
    #expect(content.contentType == "multipart/form-data; boundary=B")
    let text = """
      --B\r
      Content-Disposition: form-data; name="model"\r
      \r
      whisper-1\r
      --B\r
      Content-Disposition: form-data; name="file"; filename="a.m4a"\r
      Content-Type: audio/mp4\r
      \r

      """
    #expect(content.body == Array(text.utf8) + [0, 13, 10, 255] + Array("\r\n--B--\r\n".utf8))
  }

  @Test("A boundary that occurs in a file, a text or a name is not used")
  func boundary() {
    let drawn = Mutex(["in-file", "in-text", "in-name", "free"])
    var form = MultipartForm { drawn.withLock { $0.removeFirst() } }
    form.addField("a", "say in-text please")
    form.addFile("b", filename: "in-name.wav", mediaType: "audio/wav", Array("\r\n--in-file--".utf8))
    #expect(form.encoded().contentType == "multipart/form-data; boundary=free")
    #expect(drawn.withLock { $0.isEmpty })
  }

  @Test("Drawn boundaries differ, and are such as RFC 2046 allows")
  func drawn() throws {
    let types = (0..<50).map { _ in MultipartForm().encoded().contentType }
    #expect(Set(types).count == 50)
    for type in types {
      let boundary = try #require(type.split(separator: "=").last)
      #expect((20...70).contains(boundary.utf8.count) && boundary.utf8.allSatisfy { $0 == 0x2d || ($0 | 0x20) >= 0x30 })
    }
  }

  @Test(
    "A name that would start a header or end its quotes does neither, and comes back as it was",
    arguments: [
      "a\r\nX-Injected: yes\r\n\r\nbody", "quote\"; filename=\"other", "\u{0}nul", "tab\tand\u{7f}", "größe 🎙.m4a", "back\\slash",
      "100%", "%22", "",
    ])
  func names(_ name: String) throws {
    var form = MultipartForm()
    form.addFile("file", filename: name, mediaType: "audio/mp4", [1])
    form.addField(name, "value")
    let content = form.encoded()
    let text = String(decoding: content.body, as: UTF8.self)
    #expect(!text.contains("\r\nX-Injected") && text.filter { $0 == "\r\n" }.count == 10)
    let body = try MultipartBody(parsing: content.body, contentType: content.contentType)
    #expect(body.parts.count == 2 && body.parts[0].name == "file" && body.parts[1].text == "value")
    // What browsers do not escape either cannot be told from what was escaped.
    let isAmbiguous = name.contains("%") || name.utf8.contains { $0 == 0 || $0 == 9 || $0 == 0x7f }
    if !isAmbiguous { #expect(body.parts[0].filename == name && body.parts[1].name == name) }
  }

  @Test("A media type that would start a header is not sent", arguments: ["", "audio/mp4\r\nX-Injected: yes", "audio/ü"])
  func mediaType(_ type: String) throws {
    var form = MultipartForm()
    form.addFile("file", filename: "a", mediaType: type, [1])
    let content = form.encoded()
    let body = try MultipartBody(parsing: content.body, contentType: content.contentType)
    #expect(body.parts.map(\.mediaType) == ["application/octet-stream"])
  }

  @Test("Whatever is written is read as it was, byte for byte")
  func roundTrip() throws {
    let seed = UInt64.random(in: .min ... .max)
    var generator = SeededRandom(seed)
    for _ in 0..<200 {
      var form = MultipartForm()
      var files: [[UInt8]] = []
      for index in 0..<Int.random(in: 0...5, using: &generator) {
        // Made of what boundaries are made of, so that near misses are common.
        let bytes = (0..<Int.random(in: 0...300, using: &generator)).map { _ in
          [0x0d, 0x0a, 0x2d, 0x2d, 0x70, 0x61, 0x72, 0x00].randomElement(using: &generator) ?? UInt8(0)
        }
        files.append(bytes)
        form.addFile("f\(index)", filename: "\(index).bin", mediaType: "a/b", bytes)
      }
      let content = form.encoded()
      let body = try MultipartBody(parsing: content.body, contentType: content.contentType)
      #expect(body.parts.map { Array($0.bytes) } == files, "seed \(seed)")
    }
  }
}
