import Buffers
import Compression
import RPC
import Testing

@Suite("Compression of messages") struct CompressorTests {
  private let compressor = Compressor()

  @Test("A message comes back as it was", arguments: MessageCompression.allCases, [0, 1, 100, 70_000])
  func roundTrip(_ compression: MessageCompression, _ count: Int) throws {
    let message = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 / 7) }
    let packed = ByteBuffer()
    packed.append(7)
    let packedCount = message.withUnsafeBytes { compressor.compress($0, compression, into: packed) }
    #expect(packed.count == packedCount + 1)
    packed.removeFirst(1)
    let restored = ByteBuffer()
    let restoredCount = try compressor.decompress(packed.bytes, compression, into: restored, maximumBytes: count)
    #expect(restoredCount == count)
    #expect([UInt8](restored.bytes) == message)
  }

  @Test("A message of exactly the limit passes and one byte more does not", arguments: MessageCompression.allCases)
  func limit(_ compression: MessageCompression) throws {
    let packed = ByteBuffer()
    [UInt8](repeating: 0, count: 50_000).withUnsafeBytes { _ = compressor.compress($0, compression, into: packed) }
    let restored = ByteBuffer()
    try compressor.decompress(packed.bytes, compression, into: restored, maximumBytes: 50_000)
    restored.reset()
    restored.append(1)
    let error = #expect(throws: CompressionError.self) {
      try compressor.decompress(packed.bytes, compression, into: restored, maximumBytes: 49_999)
    }
    #expect(error?.code == .tooLarge)
    #expect(restored.count == 1)
  }

  @Test("Input that is cut off, goes on, or is something else is malformed", arguments: [MessageCompression.gzip, .deflate])
  func malformed(_ compression: MessageCompression) throws {
    let packed = ByteBuffer()
    Array("some text, some more text".utf8).withUnsafeBytes { _ = compressor.compress($0, compression, into: packed) }
    let whole = [UInt8](packed.bytes)
    for input in [Array(whole.dropLast()), Array(whole.prefix(5)), [], whole + [0], Array("plain text".utf8), [0x1f, 0x8b]] {
      let received = ByteBuffer()
      received.append(contentsOf: input)
      let restored = ByteBuffer()
      let error = #expect(throws: CompressionError.self) {
        try compressor.decompress(received.bytes, compression, into: restored, maximumBytes: 1_000)
      }
      #expect(error?.code == .malformed)
      #expect(restored.isEmpty)
    }
  }
}
