import ArgumentParser
import RPC

/// `parley call`: any method of any server by its name, JSON in and JSON out.
struct CallCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "call",
    abstract: "Call any method of any server: JSON in, JSON out.",
    usage: "parley call <package.Service/Method> [<json> | -] [options]",
    discussion: """
      Methods of Parley's own services are compiled in; for any other the server is asked what it serves (reflection).

      One request and one response:
        parley call grpc.health.v1.Health/Check '{"service": ""}'
        parley call parley.broker.v1.TokenBrokerService/WhoAmI --bearer @id-token.txt
        echo '{}' | parley call parley.broker.v1.TokenBrokerService/ExchangeToken - --bearer "$TOKEN"

      Streams: each response is a line, printed as it comes. A method that takes many requests takes JSON documents one after \
      the other, from the argument or, without one, from standard input as they are typed; the end of the input (Ctrl-D) ends \
      them, Ctrl-C the call.
        parley call grpc.health.v1.Health/Watch --target localhost:8080
        parley call chat.v1.Chat/Talk '{"text": "a"} {"text": "b"}' --target localhost:8080
        parley call chat.v1.Chat/Talk --target chat.example.org:443 --tls --protocol connect --codec json

      See 'parley list' and 'parley describe' for what a server has.
      """)

  @Argument(help: .init("The method, as in grpc.health.v1.Health/Check.", valueName: "package.Service/Method"))
  var method: MethodName
  @Argument(help: "The request as JSON; '-' reads it from standard input. (default: {}, or '-' where there are many)")
  var request: String?
  @OptionGroup var sent: SentMetadata
  @OptionGroup(title: "Options of the protocol") var wire: WireOptions
  @Flag(help: "Call by GET, if the method is declared without side effects (unary, connect).") var get = false
  @Flag(help: "Ask the server for its messages even where they are compiled in.") var reflect = false
  @Flag(name: .shortAndLong, help: "Show metadata on standard error.") var verbose = false
  @OptionGroup(title: "Options of the connection") var options: TargetOptions

  func validate() throws {
    if request == "-" { try refuseTwoReaders() }
    if get && wire.wireProtocol != .connect { throw ValidationError("--get needs --protocol connect.") }
  }

  private func refuseTwoReaders() throws {
    guard sent.readsStandardInput else { return }
    throw ValidationError("Only one of the requests and the token can come from standard input.")
  }

  func run() async throws {
    let metadata = try sent.read()
    try await Connection.call(options, wire, metadata) { connection in
      let schema = Schema(connection.reflection)
      let info = try await schema.method(method, asksServer: reflect)
      let text = MessageText(schema: schema, codec: wire.codec.codec)
      let requests = try requests(of: info)
      if case .given(let given) = requests {
        // What is wrong with them is told before anybody is called.
        for request in given { _ = try await text.payload(request, as: info.requestDescriptor) }
      }
      let call = MethodCall(method: info, text: text, requests: requests, isVerbose: verbose, loop: connection.loop)
      let deadline = info.kind == .unary ? connection.deadline : connection.chosenDeadline
      try await call.run(on: connection.channel, CallOptions(metadata: metadata, deadline: deadline, prefersGET: get))
    }
  }

  private func requests(of method: MethodInfo) throws -> RequestSource {
    if method.kind.hasManyRequests {
      guard let request, request != "-" else {
        try refuseTwoReaders()
        return .standardInput
      }
      return .given(try JSONDocuments.all(in: Array(request.utf8)))
    }
    let text = request == "-" ? try StandardInput.read() : Array((request ?? "{}").utf8)
    let documents = try JSONDocuments.all(in: text)
    guard documents.count == 1 else {
      throw ValidationError("\(method.name) takes one request; \(documents.isEmpty ? "none" : "\(documents.count)") came.")
    }
    return .given(documents)
  }
}
