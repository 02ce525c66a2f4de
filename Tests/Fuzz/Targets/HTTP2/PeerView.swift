import CNghttp2

/// What the other end of a connection sees: it reads all that our side writes, and knows what may never be among it.
final class PeerView {
  /// What was heard on one stream.
  struct Exchange {
    var lists: [[(name: [UInt8], value: [UInt8])]] = []
    var body: [UInt8] = []
    var isEnded = false
    var isReset = false
  }

  private(set) var streams: [UInt32: Exchange] = [:]
  private(set) var goaways = 0
  private let readsRequests: Bool
  private var expectsPreface: Bool
  private var input: [UInt8] = []
  private var fragments: [UInt8] = []
  private var openBlock: (stream: UInt32, endsStream: Bool)?
  private var inflater: OpaquePointer?
  private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  /// A view of what a server writes, or of what a client does.
  init(ofClient: Bool) {
    readsRequests = ofClient
    expectsPreface = ofClient
    require(nghttp2_hd_inflate_new(&inflater) == 0, "no memory")
  }

  deinit { nghttp2_hd_inflate_del(inflater) }

  /// Reads on. `frameBytes` is what the other end has allowed frames to be at most.
  func read(_ bytes: UnsafeRawBufferPointer, frameBytes: Int = 16_384) {
    input += bytes
    var offset = 0
    if expectsPreface {
      guard input.count >= Self.preface.count else { return }
      require(input.starts(with: Self.preface), "a connection that does not begin with the preface")
      expectsPreface = false
      offset = Self.preface.count
    }
    while input.count - offset >= 9 {
      let length = Int(input[offset]) << 16 | Int(input[offset + 1]) << 8 | Int(input[offset + 2])
      require(length <= frameBytes, "a frame of \(length) bytes")
      guard input.count - offset >= 9 + length else { break }
      let stream = input[(offset + 5)..<(offset + 9)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      require(stream & 0x8000_0000 == 0, "a reserved bit is set")
      heard(input[offset + 3], input[offset + 4], stream, input[(offset + 9)..<(offset + 9 + length)])
      offset += 9 + length
    }
    input.removeFirst(offset)
  }

  /// Whether our side stopped in the middle of a frame: allowed only where the connection was cut.
  var isInsideFrame: Bool { !input.isEmpty || openBlock != nil }

  private func heard(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: ArraySlice<UInt8>) {
    if let openBlock { require(type == Frame.continuation && stream == openBlock.stream, "a header block is interrupted") }
    switch type {
    case Frame.data:
      require(stream & 1 == 1, "DATA on stream \(stream)")
      change(stream) { exchange in
        require(!exchange.lists.isEmpty, "DATA before a header list on stream \(stream)")
        require(!exchange.isEnded && !exchange.isReset, "DATA on stream \(stream), which is over")
        exchange.body += payload
        if flags & Frame.endStream != 0 { exchange.isEnded = true }
      }
    case Frame.headers:
      require(stream & 1 == 1, "HEADERS on stream \(stream)")
      if readsRequests {
        require(streams[stream] != nil || stream > (streams.keys.max() ?? 0), "stream \(stream) is opened too late")
      }
      openBlock = (stream, flags & Frame.endStream != 0)
      block(payload, flags)
    case Frame.continuation:
      require(openBlock != nil, "CONTINUATION of nothing")
      block(payload, flags)
    case Frame.reset:
      require(payload.count == 4 && stream != 0, "a malformed RST_STREAM")
      change(stream) { $0.isReset = true }
    case Frame.settings:
      require(stream == 0 && payload.count % 6 == 0 && (flags & 1 == 0 || payload.isEmpty), "malformed SETTINGS")
    case Frame.ping: require(stream == 0 && payload.count == 8, "a malformed PING")
    case Frame.goaway:
      require(stream == 0 && payload.count >= 8, "a malformed GOAWAY")
      goaways += 1
    case Frame.windowUpdate:
      require(payload.count == 4 && payload.contains { $0 != 0 }, "a malformed WINDOW_UPDATE")
    default: require(false, "a frame of type \(type)")
    }
  }

  private func block(_ payload: ArraySlice<UInt8>, _ flags: UInt8) {
    fragments += payload
    guard flags & Frame.endHeaders != 0, let (stream, ends) = openBlock else { return }
    openBlock = nil
    let list = decode()
    check(list, stream)
    change(stream) { exchange in
      require(!exchange.isEnded && !exchange.isReset, "a header list on stream \(stream), which is over")
      exchange.lists.append(list)
      if ends { exchange.isEnded = true }
    }
  }

  /// RFC 9113, section 8.2: what no header list may hold.
  private func check(_ list: [(name: [UInt8], value: [UInt8])], _ stream: UInt32) {
    var isPseudo = true
    for (name, value) in list {
      let text = String(decoding: name, as: UTF8.self)
      require(!name.isEmpty, "a field without a name")
      if name[0] == UInt8(ascii: ":") {
        require(isPseudo, "\(text) behind other fields")
        require((streams[stream]?.lists.isEmpty ?? true), "\(text) among trailers")
      } else {
        isPseudo = false
      }
      require(name.allSatisfy { $0 > 0x20 && $0 < 0x7f && !($0 >= 0x41 && $0 <= 0x5a) }, "the field name '\(text)'")
      require(!value.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "a line ends inside the field '\(text)'")
    }
    if streams[stream]?.lists.isEmpty ?? true {
      let wanted = readsRequests ? [":method", ":scheme", ":path"] : [":status"]
      for name in wanted {
        require(list.filter { $0.name.elementsEqual(name.utf8) }.count == 1, "a header list without one \(name)")
      }
    }
  }

  private func decode() -> [(name: [UInt8], value: [UInt8])] {
    var list: [(name: [UInt8], value: [UInt8])] = []
    var offset = 0
    while true {
      var field = nghttp2_nv()
      var flags: Int32 = 0
      let used = fragments.withUnsafeBufferPointer { buffer in
        nghttp2_hd_inflate_hd2(inflater, &field, &flags, buffer.baseAddress.map { $0 + offset }, buffer.count - offset, 1)
      }
      require(used >= 0, "a header block that cannot be read")
      offset += used
      if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
        list.append(
          (
            [UInt8](UnsafeBufferPointer(start: field.name, count: field.namelen)),
            [UInt8](UnsafeBufferPointer(start: field.value, count: field.valuelen))
          ))
      }
      if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
        nghttp2_hd_inflate_end_headers(inflater)
        break
      }
      if offset == fragments.count && flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) == 0 { break }
    }
    fragments = []
    return list
  }

  private func change(_ stream: UInt32, _ body: (inout Exchange) -> Void) { body(&streams[stream, default: Exchange()]) }
}

extension PeerView.Exchange {
  /// The last value of a field.
  func value(_ name: String) -> String? {
    lists.joined().last { $0.name.elementsEqual(name.utf8) }.map { String(decoding: $0.value, as: UTF8.self) }
  }
}
