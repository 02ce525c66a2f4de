import Buffers
import Compression
import ConnectWire
import Glibc
import HTTP2
import JSON
import MessagesCore
import RPC
import RPCServer
import RPCWire
import WellKnown

/// The framing and the headers of gRPC, gRPC-Web and Connect: the first byte chooses the reader of the rest.
final class FramingTarget: FuzzTarget {
  private let compressor = Compressor()
  private static let maximumBytes = 64 << 10

  private static let checks: [@Sendable (FramingTarget, UnsafeRawBufferPointer) -> Void] = [
    { $0.envelopes($1) }, { $0.webTrailers($1) }, { $0.endOfStream($1) }, { $0.connectError($1) }, { $0.timeouts($1) },
    { $0.percent($1) }, { $0.metadataBase64($1) }, { $0.names($1) }, { $0.details($1) }, { $0.getRequest($1) },
    { $0.restoring($1, .gzip) }, { $0.restoring($1, .deflate) }, { $0.compressing($1) }, { $0.statusTrailers($1) },
  ]

  func run(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    Self.checks[Int(choice) % Self.checks.count](self, input.from(1))
  }

  // MARK: Envelopes

  private func envelopes(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes
    while true {
      switch Envelope.parse(rest, maximumBytes: 1_024) {
      case .empty:
        require(rest.isEmpty, "bytes that are there are not seen")
        return
      case .incomplete(let total):
        require(total > rest.count, "an envelope that is whole is called incomplete")
        return
      case .tooLarge(let count):
        require(count > 1_024, "a message of \(count) bytes is called too large")
        return
      case .complete(let envelope):
        require(envelope.end <= rest.count && envelope.count <= Envelope.longest(of: 1_024), "an envelope past its end")
        require(
          Array(rest.prefix(Envelope.prefixBytes)) == Envelope.prefix(flags: envelope.flags, count: envelope.count),
          "a prefix that is written otherwise than it was read")
        rest = rest.from(envelope.end)
      }
    }
  }

  private func webTrailers(_ bytes: UnsafeRawBufferPointer) {
    guard let fields = GRPCWebTrailers.fields(bytes) else { return }
    let list = HeaderList(capacity: fields.count)
    for (name, value) in fields { list.append(name, value) }
    let buffer = ByteBuffer()
    GRPCWebTrailers.append(list, to: buffer)
    guard case .complete(let envelope) = Envelope.parse(buffer.bytes, maximumBytes: .max) else {
      return require(false, "the trailers' envelope is not whole")
    }
    require(envelope.flags == Envelope.trailers && envelope.end == buffer.count, "the trailers' envelope has another length")
    let again = GRPCWebTrailers.fields(buffer.bytes.from(Envelope.prefixBytes))
    // A carriage return inside a value ends the line once it is the last byte of it.
    guard !bytes.contains(UInt8(ascii: "\r")) else { return }
    require(again?.map(\.name) == fields.map(\.name) && again?.map(\.value) == fields.map(\.value), "trailers change")
  }

  // MARK: Connect

  private func endOfStream(_ bytes: UnsafeRawBufferPointer) {
    guard let end = ConnectEndOfStream(json: bytes.array, detail: StatusDetails.detail) else { return }
    let details = end.error.map(StatusDetails.connectDetails) ?? []
    let written = end.json(details: details)
    guard let again = ConnectEndOfStream(json: written, detail: StatusDetails.detail) else {
      return require(false, "the end of a stream is not read as it was written")
    }
    require(again.error?.code == end.error?.code && again.error?.message == end.error?.message, "the error changes")
    require(again.metadata.entries.count == end.metadata.entries.count, "metadata is lost")
    for name in Set(end.metadata.entries.map(\.name)) {
      require(again.metadata.values(of: name) == end.metadata.values(of: name), "the metadata '\(name)' changes")
    }
  }

  private func connectError(_ bytes: UnsafeRawBufferPointer) {
    guard let json = try? JSONParser.parse(bytes),
      let error = ConnectError.read(json, fallback: .unknown, detail: StatusDetails.detail)
    else { return }
    require((400...599).contains(ConnectCode.httpStatus(error.code)), "an error has the HTTP status of a success")
    var writer = JSONWriter()
    ConnectError.write(error, details: StatusDetails.connectDetails(error), to: &writer)
    let again = (try? JSONParser.parse(writer.bytes)).flatMap {
      ConnectError.read($0, fallback: .unknown, detail: StatusDetails.detail)
    }
    require(again?.code == error.code && again?.message == error.message, "a Connect error changes on its way")
    require(again.map(Self.known) == Self.known(error), "the details of a Connect error change on their way")
  }

  private static func known(_ error: RPCError) -> [ErrorDetail] {
    error.details.filter { if case .other = $0 { false } else { true } }
  }

  private func getRequest(_ bytes: UnsafeRawBufferPointer) {
    let request = ConnectGetRequest(query: bytes)
    _ = try? request.compression()
    if let message = try? request.message() { require(message.count <= bytes.count, "a message longer than its query") }
  }

  // MARK: Headers

  private func timeouts(_ bytes: UnsafeRawBufferPointer) {
    if let duration = Timeout.decode(bytes) {
      require(duration >= .zero, "a timeout below zero")
      var text = Timeout.encode(duration)
      let again = text.withUTF8 { Timeout.decode(UnsafeRawBufferPointer($0)) }
      require(again.map { $0 >= duration } ?? false, "a timeout is shorter after it was written: \(duration) \(text)")
    }
    if let duration = ConnectHeaders.decodeTimeout(String(decoding: bytes, as: UTF8.self)) {
      require(
        ConnectHeaders.decodeTimeout(ConnectHeaders.encodeTimeout(duration)) == duration, "a Connect timeout changes: \(duration)"
      )
    }
  }

  private func percent(_ bytes: UnsafeRawBufferPointer) {
    let text = PercentEncoding.decode(bytes)
    let encoded = PercentEncoding.encode(text)
    require(encoded.utf8.allSatisfy { $0 >= 0x20 && $0 <= 0x7e }, "a status message that is no header value")
    require(PercentEncoding.decode(encoded.utf8).utf8.elementsEqual(text.utf8), "a status message changes")
  }

  private func metadataBase64(_ bytes: UnsafeRawBufferPointer) {
    require(MetadataBase64.decode(MetadataBase64.encode(bytes).utf8) == bytes.array, "binary metadata changes")
    if let decoded = MetadataBase64.decode(bytes) { require(decoded.count <= bytes.count, "more bytes than text") }
  }

  private func names(_ bytes: UnsafeRawBufferPointer) {
    let type = WireContentType.parse(bytes)
    if case .known(let wire, let codec) = type {
      var text = wire.contentType(codec)
      let again = text.withUTF8 { WireContentType.parse(UnsafeRawBufferPointer($0)) }
      require(again == type, "the content type \(text) means something else")
    }
    let accepted = AcceptedCompressions(list: bytes)
    require(accepted.accepts(.identity), "no compression is refused")
    _ = MessageCompression(named: bytes)
  }

  private func details(_ bytes: UnsafeRawBufferPointer) {
    let details = StatusDetails.decode(bytes.array)
    guard !details.isEmpty else { return }
    let error = RPCError(.internal, "message", details: details)
    guard let encoded = StatusDetails.encode(error) else { return require(false, "details that were read are not written") }
    // A delay beyond what a `Duration` holds is cut, so the second reading counts.
    let once = StatusDetails.decode(encoded)
    let twice = StatusDetails.encode(RPCError(.internal, "message", details: once)).map(StatusDetails.decode)
    require(once.count == details.count && twice == once, "details change")
  }

  /// What a status says leaves as header fields that may stand in a header list.
  private func statusTrailers(_ bytes: UnsafeRawBufferPointer) {
    let (message, value) = bytes.split(at: 0)
    var metadata = Metadata()
    metadata.append(.init(name: "x-text", value: .text(String(decoding: value, as: UTF8.self))))
    metadata.append(.init(name: "x-bytes-bin", value: .binary(value.array)))
    let error = RPCError(
      .aborted, String(decoding: message, as: UTF8.self),
      details: [.errorInfo(reason: "R", domain: "d", metadata: ["k": String(decoding: value, as: UTF8.self)])])
    var count = 0
    GRPCHeaders.trailers(error, metadata).forEach { name, value in
      count += 1
      require(value.allSatisfy { $0 >= 0x20 && $0 <= 0x7e }, "a trailer that is no header value")
      require(value.count <= 16_384 + 2 * bytes.count, "a trailer of \(value.count) bytes")
    }
    require(count >= 3, "a status without its trailers")
  }

  // MARK: Compression

  private func restoring(_ bytes: UnsafeRawBufferPointer, _ compression: MessageCompression) {
    let buffer = ByteBuffer()
    buffer.append(contentsOf: [1, 2, 3])
    if let count = try? compressor.decompress(bytes, compression, into: buffer, maximumBytes: Self.maximumBytes) {
      require(count <= Self.maximumBytes && buffer.count == count + 3, "more bytes than allowed")
    } else {
      require(buffer.count == 3, "a failure leaves bytes behind")
    }
  }

  private func compressing(_ bytes: UnsafeRawBufferPointer) {
    for compression in MessageCompression.allCases {
      let compressed = ByteBuffer()
      let count = compressor.compress(bytes, compression, into: compressed)
      require(count == compressed.count && count <= Envelope.longest(of: bytes.count), "compressed beyond the bound")
      let restored = ByteBuffer()
      _ = expect("what was compressed is not restored") {
        try compressor.decompress(compressed.bytes, compression, into: restored, maximumBytes: bytes.count)
      }
      require(restored.bytes.elementsEqual(bytes), "compression changes bytes")
    }
  }
}
