import EventLoop
import RPC
import RPCServer
import TestAPI
import TestSupport
import Testing

/// Metadata whose names and values come from elsewhere: from callers above all.
@Suite("Metadata of others")
struct MetadataTests {
  /// No name of metadata, one of another kind of value, or one that the protocols keep for themselves.
  static let names = [
    "", " ", "X-Upper", "x y", "x:y", ":path", "x\u{0}", "x\r\nset-cookie", "größe", "grpc-status", "connect-timeout-ms", "te",
    "connection", "content-length", "content-type", "transfer-encoding", "x-bytes-bin",
  ]

  @Test("A name that a caller chose is refused with an error instead of ending the process", arguments: names)
  func refusedNames(_ name: String) throws {
    var metadata = Metadata()
    #expect(throws: MetadataError.self) { () throws in try metadata.append(checking: name, "value") }
    if name != "x-bytes-bin" { #expect(throws: MetadataError.self) { () throws in try metadata.append(checking: name, [1]) } }
    #expect(throws: MetadataError.self) { () throws in try metadata.append(checking: "x-text", [1]) }
    #expect(metadata.isEmpty)
  }

  @Test("A value that may not be sent is refused where it is checked", arguments: ["a\r\nb", "\u{0}", "ü", " a", "a ", "\t"])
  func refusedValues(_ value: String) throws {
    var metadata = Metadata()
    let error = #expect(throws: MetadataError.self) { () throws in try metadata.append(checking: "x-note", value) }
    #expect(error?.code == .invalidValue && error?.description == "the value of the metadata 'x-note' may not be sent")
    try metadata.append(checking: "x-note", "plain")
    try metadata.append(checking: "x-note-bin", [0, 255])
    #expect(metadata["x-note"] == "plain" && metadata.binary("x-note-bin") == [0, 255])
  }

  @Test(
    "A handler that echoes a caller's names is INTERNAL where one is none, and serves the next call", arguments: names.dropLast())
  func echoed(_ name: String) async throws {
    try await EchoServer.call { client, server in
      let error = await #expect(throws: RPCError.self) { try await client.metadata(MetadataRequest(initial: [name: "x"])) }
      #expect(error?.code == .internal && error?.message.hasPrefix("internal error, incident ") == true)
      #expect(server.incidents.first?.error is MetadataError)
      _ = try await client.metadata(MetadataRequest(initial: ["x-fine": "x"]))
    }
  }

  /// Where a handler may set a value that may not be sent.
  enum Place: CaseIterable { case initial, trailing, initialOfStream, trailingOfStream }

  @Test(
    "A value that may not be sent makes the call INTERNAL, with a line in the log, instead of going missing",
    arguments: Place.allCases)
  func unsendable(_ place: Place) async throws {
    let sets = BeforeCall { call in
      switch place {
      case .initial, .initialOfStream: call.initialMetadata["x-note"] = "a\r\nb"
      case .trailing, .trailingOfStream: call.trailingMetadata["x-note"] = "ü"
      }
    }
    for type in ["application/grpc", "application/grpc-web"] {
      try await ProtocolPeer.run(interceptors: [Once(sets)], expectingIncidents: 1) { peer, server in
        let isStream = [.initialOfStream, .trailingOfStream].contains(place)
        let answer = try await peer.answer(1, isStream ? "Count" : "Echo", type, HTTP2Peer.message(isStream ? [0x08, 2] : []))
        let status = answer.status ?? answer.webTrailers.first { $0.hasPrefix("grpc-status: ") }.flatMap { Int($0.dropFirst(13)) }
        #expect(status == StatusCode.internal.rawValue)
        #expect(answer.value("x-note") == nil && !answer.webTrailers.contains { $0.hasPrefix("x-note") })
        #expect(server.incidents.first?.error as? MetadataError == MetadataError.unsendable("x-note"))
      }
    }
  }

  @Test("A caller's own value that may not be sent fails its call, and nothing is sent")
  func unsendableRequest() async throws {
    let reached = Tally("calls that reached the handler")
    try await EchoServer.call(handlers: EchoHandlers { _, _ in reached.add() }) { client, _ in
      var options = CallOptions()
      options.metadata["x-note"] = "a\r\nb"
      let error = await #expect(throws: RPCError.self) { _ = try await client.echo(options: options) }
      #expect(error?.code == .internal && error?.message.contains("x-note") == true)
      let stream = await #expect(throws: RPCError.self) { try await client.chat(options: options) { _ in } }
      #expect(stream?.code == .internal && reached.value == 0)
      _ = try await client.echo()
    }
  }

  @Test("The error of a call stands, whatever cannot go with it")
  func unsendableOfFailure() async throws {
    let sets = BeforeCall { call in call.trailingMetadata["x-note"] = "ü" }
    try await ProtocolPeer.run(interceptors: [Once(sets)], expectingIncidents: 1) { peer, _ in
      let answer = try await peer.answer(1, "Fail", "application/grpc", HTTP2Peer.message([0x08, 5]))
      #expect(answer.status == 5 && answer.value("x-note") == nil)
    }
  }

  /// For the first call only: the last one of a test asks whether the server still serves.
  struct Once: ServerInterceptor {
    let first: BeforeCall
    let calls = Tally("calls")

    init(_ first: BeforeCall) { self.first = first }

    func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
      calls.add()
      if calls.value == 1 { try await first.intercept(call, next: next) } else { try await next(call) }
    }
  }
}

extension MetadataError {
  fileprivate static func unsendable(_ name: String) -> MetadataError? {
    var metadata = Metadata()
    do throws(MetadataError) { try metadata.append(checking: name, "\n") } catch { return error }
    return nil
  }
}
