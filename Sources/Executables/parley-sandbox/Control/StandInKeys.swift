/// The keys that stand-ins take which have no keys of their own to hand out.
struct StandInKeys: Sendable {
  /// What OpenAI's side takes as bearer token.
  var openAI = "sk-sandbox"
  /// What ElevenLabs' side takes as `xi-api-key`.
  var elevenLabs = "xi-sandbox"
}
