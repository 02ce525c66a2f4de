import Audio
import Testing

@Suite("Audio: what a file is") struct AudioFormatTests {
  @Test("Every kind that clients send is known by its bytes, whatever made it")
  func real() async throws {
    try await Studio.run { (studio) async throws in
      try await studio.speak()
      for kind in Studio.kinds {
        let bytes = try await studio.spoken(as: kind.name, kind.arguments)
        #expect(AudioFormat.sniffed(from: bytes) == kind.format, "\(kind.name)")
        for count in 0..<min(bytes.count, 200) {
          let start = AudioFormat.sniffed(from: Array(bytes[..<count]))
          #expect(start == nil || start == kind.format || start == .mp3 && kind.name == "a.mp3", "\(count) bytes of \(kind.name)")
        }
      }
    }
  }

  @Test(
    "What is no recording is none",
    arguments: [
      "", "I am text that is named voice.m4a", "#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
      "ffconcat version 1.0\nfile /etc/passwd\n",
      "{\"json\": true}", "<html></html>", "%PDF-1.7\n", "PK\u{3}\u{4}zip", "\u{89}PNG\r\n", "RIFF\u{4}\u{0}\u{0}\u{0}AVI LIST",
      "\u{0}\u{0}\u{0}\u{14}ftypqt  \u{0}\u{0}\u{2}\u{0}", "\u{0}\u{0}\u{0}\u{14}ftypheic\u{0}\u{0}\u{2}\u{0}", "ftyp", "RIFF",
      "OggS", "ID3",
      "fLaC\u{0}", "#!AMR\n", "MThd", "ID3\u{4}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}this is text behind a tag",
    ])
  func others(_ text: String) { #expect(AudioFormat.sniffed(from: Array(text.utf8)) == nil) }

  @Test("Films and pictures in the same containers are told apart")
  func films() async throws {
    #expect(AudioFormat.sniffed(from: [0x1a, 0x45, 0xdf, 0xa3, 0x8b, 0x42, 0x82, 0x88] + Array("matroska".utf8)) == nil)
    #expect(AudioFormat.sniffed(from: [0x1a, 0x45, 0xdf, 0xa3, 0x8b, 0x42, 0x82, 0x84] + Array("webm".utf8)) == .webm)
    let page = Array("OggS".utf8) + [UInt8](repeating: 0, count: 22) + [1, 30]
    #expect(AudioFormat.sniffed(from: page + [0x80] + Array("theora".utf8)) == nil)
    #expect(AudioFormat.sniffed(from: page + Array("OpusHead".utf8)) == .ogg)
    // The same sync word with what no encoder writes: free rate, reserved version, reserved sample rate.
    for header in [[0xff, 0xfb, 0x04, 0], [0xff, 0xeb, 0x90, 0], [0xff, 0xfb, 0x9c, 0], [0xff, 0xff, 0x90, 0]] as [[UInt8]] {
      #expect(AudioFormat.sniffed(from: header + [UInt8](repeating: 0, count: 2000)) == nil)
    }
  }

  @Test(
    "O-41: a declared type has to agree with the bytes",
    arguments: [
      (
        .m4a, ["audio/m4a", "audio/mp4", "audio/x-m4a", "AUDIO/MP4", "audio/mp4; codecs=\"mp4a.40.2\"", " audio/m4a ;x=y"],
        ["audio/aac", "video/mp4"]
      ),
      (.aac, ["audio/aac", "audio/aacp"], ["audio/mp4"]), (.mp3, ["audio/mpeg", "audio/mp3"], ["audio/mp4", "audio"]),
      (.wav, ["audio/wav", "audio/x-wav", "audio/wave"], ["audio/mpeg", "application/octet-stream"]),
      (.webm, ["audio/webm;codecs=opus"], ["video/webm", "audio/ogg"]),
      (.ogg, ["audio/ogg", "audio/opus"], ["audio/webm", "", ";"]),
    ] as [(AudioFormat, [String], [String])])
  func declared(format: AudioFormat, agreeing: [String], others: [String]) {
    for type in agreeing { #expect(format.agrees(with: type), "\(type)") }
    for type in others { #expect(!format.agrees(with: type), "\(type)") }
    #expect(format.agrees(with: format.mediaType) && !format.fileExtension.isEmpty)
  }
}
