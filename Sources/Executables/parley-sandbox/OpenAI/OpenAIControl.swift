import JSON
import RPCServer

/// What steers OpenAI's side of the sandbox.
struct OpenAIControl: Sendable {
  let openAI: OpenAIStandIn
  let control: ControlRoutes

  var routes: [HTTPRoute] {
    [
      control.route("/sandbox/openai/dialect", ["POST": speak]),
      control.route(
        "/sandbox/openai/transcripts",
        [
          "POST": know,
          "DELETE": { _ in
            openAI.forgetTranscripts()
            return .json([:])
          },
        ]),
      control.route(
        "/sandbox/openai/chat",
        [
          "POST": { request in
            openAI.plan(try WishedChat(ControlRequest(request, allowing: WishedChat.names)))
            return .json([:])
          },
          "DELETE": { _ in
            openAI.forgetChats()
            return .json([:])
          },
        ]),
    ]
  }

  private func speak(_ request: HTTPServerRequest) throws -> HTTPServerResponse {
    openAI.speak(try OpenAIDialect(ControlRequest(request, allowing: OpenAIDialect.names)))
    return .json([:])
  }

  private func know(_ request: HTTPServerRequest) throws -> HTTPServerResponse {
    let request = try ControlRequest(request, allowing: ["sha256", "text", "silent"])
    guard let hash = try request.text("sha256"), hash.utf8.count == 64,
      hash.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { throw ControlRequest.Fault(message: "'sha256' is not 64 lower-case hexadecimal digits") }
    let text = try request.text("text")
    guard try request.flag("silent") != (text != nil) else {
      throw ControlRequest.Fault(message: "either 'text' or 'silent' is needed")
    }
    openAI.know(text ?? "", in: hash)
    return .json([:])
  }
}
