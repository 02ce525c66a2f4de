/// What a well-behaved peer says, for the mutator to begin with.
enum FrameTemplates {
  // MARK: A client's

  static let requests: [@Sendable (UInt32) -> [Frame]] =
    calls + [
      { [.init(type: Frame.data, flags: 1, stream: $0, payload: envelope([0x0a, 2, 0x68, 0x69]))] },
      { [.init(type: Frame.data, flags: 0, stream: $0, payload: envelope([8, 1]))] },
      { [.init(type: Frame.data, flags: 1, stream: $0, payload: [])] },
      { [request($0, [(":method", "GET"), (":path", "/hook?name=ann")], ends: true)] },
      { [request($0, [(":method", "POST"), (":path", "/hook"), ("content-length", "2")])] + [data($0, [1, 2])] },
      {
        [
          request(
            $0,
            [
              (":method", "GET"),
              (":path", service + "Echo?connect=v1&encoding=json&message=%7B%22text%22%3A%22a%22%7D"),
            ], ends: true)
        ]
      },
      {
        [
          request(
            $0,
            [
              (":method", "OPTIONS"), (":path", service + "Echo"), ("origin", "https://app.example.com"),
              ("access-control-request-method", "POST"), ("access-control-request-headers", "content-type"),
            ], ends: true)
        ]
      },
      { _ in [.init(type: Frame.settings, flags: 0, stream: 0, payload: [0, 4, 0, 0, 0x10, 0])] },
      { _ in [.init(type: Frame.settings, flags: 0, stream: 0, payload: [0, 1, 0, 0, 0, 0, 0, 5, 0, 0, 0x80, 0])] },
      { _ in [.init(type: Frame.settings, flags: 1, stream: 0, payload: [])] },
      { _ in [.init(type: Frame.ping, flags: 0, stream: 0, payload: [1, 2, 3, 4, 5, 6, 7, 8])] },
      { _ in [.init(type: Frame.windowUpdate, flags: 0, stream: 0, payload: Frame.number(65_535))] },
      { [.init(type: Frame.windowUpdate, flags: 0, stream: $0, payload: Frame.number(1))] },
      { [.init(type: Frame.reset, flags: 0, stream: $0, payload: Frame.number(8))] },
      { _ in [.init(type: Frame.goaway, flags: 0, stream: 0, payload: [UInt8](repeating: 0, count: 8))] },
      { [.init(type: 2, flags: 0, stream: $0, payload: [0, 0, 0, 0, 15])] },
    ]

  private static let service = "/parley.testing.v1.EchoService/"

  private static let calls: [@Sendable (UInt32) -> [Frame]] = {
    var calls: [@Sendable (UInt32) -> [Frame]] = []
    let messages: [(String, [UInt8])] = [
      ("Echo", [0x0a, 2, 0x68, 0x69]), ("EchoTree", [0x0a, 3, 0x0a, 1, 0x61]), ("Fail", [8, 5, 0x12, 1, 0x61]), ("Sleep", []),
      ("Metadata", [0x0a, 8, 0x0a, 3, 0x78, 0x2d, 0x61, 0x12, 1, 0x62]), ("Count", [8, 3, 0x10, 8]), ("Sum", [8, 7]),
      ("Chat", [0x0a, 1, 0x61]), ("EchoStruct", []), ("EchoDescriptor", []),
    ]
    for (method, message) in messages {
      for type in ["application/grpc", "application/grpc-web+proto", "application/connect+proto"] {
        calls.append { [post($0, method, type)] + [data($0, envelope(message))] }
      }
      calls.append { [post($0, method, "application/proto")] + [data($0, message)] }
    }
    for (name, value) in [
      ("grpc-timeout", "1n"), ("grpc-timeout", "10S"), ("grpc-encoding", "gzip"), ("grpc-accept-encoding", "gzip"),
      ("x-name-bin", "AQID,BAUG"), ("authorization", "Bearer x"), ("origin", "https://app.example.com"),
    ] {
      calls.append { [post($0, "Echo", "application/grpc", [(name, value)])] + [data($0, envelope([0x0a, 1, 0x61]))] }
    }
    calls.append {
      [post($0, "Echo", "application/json", [("connect-protocol-version", "1"), ("connect-timeout-ms", "1000")])]
        + [data($0, Array(#"{"text":"a","sequence":"5"}"#.utf8))]
    }
    calls.append { [post($0, "Chat", "application/connect+json")] + [data($0, envelope(Array(#"{"text":"a"}"#.utf8)))] }
    calls.append {
      [request($0, head("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "application/grpc"))]
        + [data($0, envelope([0x3a, 1, 0x2a]))]
    }
    calls.append { [request($0, head("/grpc.health.v1.Health/Watch", "application/grpc"))] + [data($0, envelope([]))] }
    return calls
  }()

  private static func head(_ path: String, _ type: String) -> [(String, String)] {
    [(":method", "POST"), (":path", path), ("te", "trailers"), ("content-type", type)]
  }

  private static func post(_ stream: UInt32, _ method: String, _ type: String, _ extra: [(String, String)] = []) -> Frame {
    request(stream, head(service + method, type) + extra)
  }

  private static func request(_ stream: UInt32, _ fields: [(String, String)], ends: Bool = false) -> Frame {
    let pseudo = fields.filter { $0.0.hasPrefix(":") } + [(":scheme", "http"), (":authority", "a")]
    return headers(stream, pseudo + fields.filter { !$0.0.hasPrefix(":") }, ends: ends)
  }

  // MARK: A server's

  static let responses: [@Sendable (UInt32) -> [Frame]] = [
    { grpc($0, envelope([0x0a, 2, 0x68, 0x69])) },
    { grpc($0, envelope([8, 1]) + envelope([8, 2])) },
    {
      [
        headers(
          $0, [(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "5"), ("grpc-message", "a%20b")],
          ends: true)
      ]
    },
    { [headers($0, [(":status", "200"), ("content-type", "application/grpc"), ("grpc-encoding", "gzip")])] },
    { [headers($0, [("grpc-status", "0"), ("x-b-bin", "AQI")], ends: true)] },
    { [headers($0, [(":status", "103"), ("link", "a")])] },
    {
      [
        headers($0, [(":status", "200"), ("content-type", "application/grpc-web+proto")]),
        data($0, envelope([0x0a, 1, 0x61]) + envelope(Array("grpc-status: 0\r\nx-a: b\r\n".utf8), flags: 0x80)),
      ]
    },
    {
      [
        headers($0, [(":status", "200"), ("content-type", "application/proto"), ("trailer-x-a", "b")]),
        data($0, [0x0a, 1, 0x61]),
      ]
    },
    { [headers($0, [(":status", "200"), ("content-type", "application/json")]), data($0, Array(#"{"text":"a"}"#.utf8))] },
    {
      [
        headers($0, [(":status", "404"), ("content-type", "application/json")]),
        data(
          $0,
          Array(
            #"{"code":"not_found","message":"m","details":[{"type":"google.rpc.RetryInfo","value":"CgIIAQ","debug":{}}]}"#.utf8)),
      ]
    },
    {
      [
        headers($0, [(":status", "200"), ("content-type", "application/connect+proto")]),
        data($0, envelope([8, 1]) + envelope(Array(#"{"metadata":{"x-a":["b"]}}"#.utf8), flags: 2)),
      ]
    },
    {
      [
        headers($0, [(":status", "200"), ("content-type", "application/connect+json")]),
        data(
          $0,
          envelope(Array(#"{"number":1}"#.utf8)) + envelope(Array(#"{"error":{"code":"aborted","message":"m"}}"#.utf8), flags: 2)),
      ]
    },
    { [headers($0, [(":status", "503"), ("retry-after", "1")], ends: true)] },
    { [.init(type: Frame.data, flags: 0, stream: $0, payload: envelope([8, 1]))] },
    { [.init(type: Frame.data, flags: 1, stream: $0, payload: [])] },
    { [.init(type: Frame.reset, flags: 0, stream: $0, payload: Frame.number(7))] },
    { [.init(type: Frame.windowUpdate, flags: 0, stream: $0, payload: Frame.number(65_535))] },
    { _ in [.init(type: Frame.settings, flags: 0, stream: 0, payload: [0, 3, 0, 0, 0, 1])] },
    { _ in [.init(type: Frame.settings, flags: 1, stream: 0, payload: [])] },
    { _ in [.init(type: Frame.ping, flags: 1, stream: 0, payload: [UInt8](repeating: 0, count: 8))] },
    {
      _ in
      [.init(type: Frame.goaway, flags: 0, stream: 0, payload: [0, 0, 0, 1, 0, 0, 0, 11] + Array("too_many_pings".utf8))]
    },
    { [.init(type: 5, flags: 4, stream: $0, payload: [0, 0, 0, 2] + Frame.block([(":method", "GET")]))] },
  ]

  private static func grpc(_ stream: UInt32, _ body: [UInt8]) -> [Frame] {
    [
      headers(stream, [(":status", "200"), ("content-type", "application/grpc")]),
      .init(type: Frame.data, flags: 0, stream: stream, payload: body), headers(stream, [("grpc-status", "0")], ends: true),
    ]
  }

  // MARK: Parts

  private static func headers(_ stream: UInt32, _ fields: [(String, String)], ends: Bool = false) -> Frame {
    .init(
      type: Frame.headers, flags: Frame.endHeaders | (ends ? Frame.endStream : 0), stream: stream, payload: Frame.block(fields))
  }

  private static func data(_ stream: UInt32, _ bytes: [UInt8]) -> Frame {
    .init(type: Frame.data, flags: Frame.endStream, stream: stream, payload: bytes)
  }

  private static func envelope(_ message: [UInt8], flags: UInt8 = 0) -> [UInt8] {
    [flags] + Frame.number(UInt32(message.count)) + message
  }
}
