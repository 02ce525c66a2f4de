import JSON
import RPCServer

/// What steers ElevenLabs' side of the sandbox.
struct ElevenLabsControl: Sendable {
  let elevenLabs: ElevenLabsStandIn
  let control: ControlRoutes

  var routes: [HTTPRoute] {
    [
      control.route(
        "/sandbox/elevenlabs/voices",
        [
          "GET": { _ in .json(elevenLabs.document) },
          "DELETE": { _ in
            elevenLabs.reset()
            return .json(elevenLabs.document)
          },
        ]),
      control.route(
        "/sandbox/elevenlabs/settings",
        [
          "POST": { request in
            let request = try ControlRequest(request, allowing: ["voiceLimit", "requiresVerification"])
            if let limit = try request.integer("voiceLimit", in: 0...1_000_000) { elevenLabs.allow(limit) }
            if let isRequired = try request.optionalFlag("requiresVerification") { elevenLabs.requireVerification(isRequired) }
            return .json([:])
          }
        ]),
    ]
  }
}
