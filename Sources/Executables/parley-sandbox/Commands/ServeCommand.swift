import ArgumentParser
import Dispatch
import EventLoop
import HTTP2

/// `parley-sandbox serve`: listens until it is asked to end.
struct ServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve on the loopback interface until SIGTERM or SIGINT.",
    discussion: """
      Google's side:
        GET  /google/.well-known/openid-configuration
        GET  /google/certs                    the public keys (also at /oauth2/v3/certs)
        POST /google/token                    signed assertion in, access token out (also at /token)
        GET  /google/metadata/token, …/email  the metadata server (also at its own paths under /computeMetadata/v1)
        POST /google/sts                      an ID token of the sandbox in, a federated token out (also at /v1/token)
        POST /v1/projects/-/serviceAccounts/parley-speech@… (or parley-gemini@…) :generateAccessToken  (/google/impersonation)
        POST /v1/speech:recognize             takes tokens of the accounts parley-broker and parley-speech (/google/speech)
        POST /v1beta/models/…:generateContent takes tokens of the accounts parley-broker and parley-gemini (/google/gemini)

      Apple's side:
        GET  /apple/auth/keys                 the public keys (also at /auth/keys)
        POST /apple/auth/token                code or refresh token in, tokens out (also at /auth/token)
        POST /apple/auth/revoke               revokes all that came of a token (also at /auth/revoke)

      RevenueCat's side:
        GET  /revenuecat/v1/subscribers/{id}  a customer by any id (also at /v1/subscribers/{id})

      A bucket of S3, path style, which refuses every signature that is not exactly right (/s3/objects):
        PUT, GET, HEAD, DELETE /parley-blobs/{key}
        GET  /parley-blobs?list-type=2        prefix, start-after, continuation-token, max-keys

      OpenAI's side, with the bearer token of --openai-key:
        POST /openai/v1/audio/transcriptions  a form with a recording in, words out (also at /v1/audio/transcriptions, and at
                                              /inference, where whisper.cpp has it)
        POST /openai/v1/chat/completions      messages in, text or JSON by schema out (also at /v1/chat/completions)

      ElevenLabs' side, with the xi-api-key of --elevenlabs-key:
        POST /elevenlabs/v1/voices/add        a form with samples in, a voice's id out (also at /v1/voices/add)
        GET  /elevenlabs/v2/voices            voices by pages, searched (also at /v2/voices)
        GET  /elevenlabs/v1/voices            all voices at once (also at /v1/voices)
        GET, DELETE /elevenlabs/v1/voices/{id}  one (/elevenlabs/voice, /elevenlabs/voice-deletion)

      How tests and people steer it (JSON in, JSON out):
        POST /sandbox/revenuecat/customer     {"ids","entitlements":{"pro":{"productId","expiresIn"}},"period",
                                              "unsubscribed","billingIssue","managementUrl"}; DELETE forgets all
        POST /sandbox/revenuecat/webhook      {"url","authorization","event","times","retries","pauseMs"}
        POST /sandbox/google/id-token         {"aud","sub","nonce","email","hd","azp","expiresIn","issuedAgo","iss","alg","kid","claims"}
        POST /sandbox/google/rotate-keys      {"withdraw": true} takes the old keys back at once
        GET  /sandbox/google/service-account  the key file for the service under test
        POST /sandbox/google/settings         {"tokenLifetime","certsMaxAge"}, in seconds
        POST /sandbox/apple/identity-token    {"aud","sub","nonce","email","privateEmail","stringBooleans","nonceSupported",…}
        POST /sandbox/apple/notification      {"type","aud","sub","jti","email","eventTime"}: the body that Apple would post
        POST /sandbox/apple/rotate-keys       {"withdraw": true} takes the old keys back at once
        GET  /sandbox/apple/credential        team, key id and private key for the service under test
        GET  /sandbox/apple/grants            how many codes, refresh tokens and revocations there are
        GET  /sandbox/s3/objects              what is in the bucket, and how often each was stored; DELETE empties it
        GET  /sandbox/s3/access               bucket, region and key for the service under test
        POST /sandbox/openai/transcripts      {"sha256","text"} or {"sha256","silent"}: what is said in a recording; DELETE forgets
        POST /sandbox/openai/dialect          {"serves","tokenLimit","jsonSchema","verboseJson"}: what it knows of the API
        POST /sandbox/openai/chat             {"content"}, {"document"}, {"refusal"}, {"truncated"} or {"invalid"}, with "count"
        GET  /sandbox/elevenlabs/voices       the voices that were made; DELETE forgets them
        POST /sandbox/elevenlabs/settings     {"voiceLimit", "requiresVerification"}
        GET  /sandbox/effects                 what was paid for, by content and by request, and what twice; DELETE starts again
        POST /sandbox/hold                    {"path","before","skip","count"}: answers wait; GET shows who; DELETE lets them go
        POST /sandbox/faults                  {"path","method","status","code","retryAfter","delayMs","drop","after","count"};
                                              "method": that one alone; "after": the work is done, its answer lost; DELETE ends them
        GET  /sandbox/counters                what was served, by path; DELETE starts again from zero

      It speaks HTTP/2 only: curl --http2 with TLS, or --http2-prior-knowledge on the plain port.
      """)

  @Option(help: "The port for HTTPS; 0 takes any free one.") var port: UInt16 = 0
  @Option(help: "One more port without TLS; 0 takes any free one.") var plainPort: UInt16?
  @Option(help: "Where to write 'tls=PORT' (and 'plain=PORT') once it listens.") var portFile: String?
  @Option(help: "The certificate chain, PEM.") var certificate: String
  @Option(help: "The certificate's private key, PEM.") var key: String
  @Option(help: "Where to leave service-account.json and apple-key.p8, readable by their owner only.") var stateDirectory: String?
  @Option(help: "Seconds that the public keys may be cached.") var certsMaxAge = 3600
  @Option(help: "Seconds that an access token is said to live.") var tokenLifetime = 3599

  @Option(name: .customLong("openai-key"), help: "The key that OpenAI's side takes.") var openAIKey = StandInKeys().openAI
  @Option(name: .customLong("elevenlabs-key"), help: "The key that ElevenLabs' side takes.") var elevenLabsKey = StandInKeys()
    .elevenLabs
  @Option(help: "A PEM file of roots that webhooks trust instead of the system's.") var outboundCa: String?

  func validate() throws {
    guard certsMaxAge >= 0, tokenLifetime >= 0 else { throw ValidationError("A number of seconds is not negative.") }
  }

  /// The main thread only waits for the signal: a main thread that Swift's concurrency parks would take it unhandled.
  func run() throws {
    // Before any other thread exists, so that all of them leave the signals to this one.
    TerminationSignals.hold()
    let group = try EventLoopGroup(count: 1, name: "sandbox")
    defer { group.shutDown() }
    let tls = try TLSContext(
      .server(identity: .init(certificateChain: .file(certificate), privateKey: .file(key))))
    let sandbox = try Sandbox(
      on: group, settings: .init(tokenLifetime: tokenLifetime, certsMaxAge: certsMaxAge),
      keys: .init(openAI: openAIKey, elevenLabs: elevenLabsKey), caFile: outboundCa, log: .standardError)
    let ports = try sandbox.listen(tls: tls, port: port, plainPort: plainPort)
    if let stateDirectory {
      try PrivateFile.write(try sandbox.serviceAccountDocument, to: stateDirectory + "/service-account.json", mode: 0o600)
      try PrivateFile.write(Array(sandbox.apple.developer.pem.utf8), to: stateDirectory + "/apple-key.p8", mode: 0o600)
    }
    if let portFile {
      let lines = ["tls=\(ports.tls)"] + (ports.plain.map { ["plain=\($0)"] } ?? [])
      try PrivateFile.write(Array((lines.joined(separator: "\n") + "\n").utf8), to: portFile, mode: 0o644)
    }
    LogLines.standardError.write("listening on https://localhost:\(ports.tls)")
    LogLines.standardError.write("ending (\(TerminationSignals.wait()))")
    let drained = DispatchSemaphore(value: 0)
    group.loops[0].spawn {
      await sandbox.drain()
      drained.signal()
    }
    drained.wait()
  }
}
