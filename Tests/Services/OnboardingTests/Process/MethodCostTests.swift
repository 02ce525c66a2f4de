import AuthDomain
import MessagesCore
import OnboardingAPI
import OnboardingStore
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import Testing
import Values
import WellKnown

@Suite("What each method of onboarding costs its database", .serialized)
struct MethodCostTests {
  @Test("No call of any method costs more statements, round trips and syncing commits than the table says")
  func walk() async throws {
    let costs = CallCosts()
    try await OnboardingWorld.with(
      OnboardingWorld.operated.merging(["TENDING_INTERVAL": "1s"]) { $1 }, costs: costs
    ) { world in
      let operators = try world.parley.secureChannel(to: world.instance, showing: .service)
      let found = await Result.of { try await problems(world, operators, costs) }
      await operators.close()
      for problem in try found.get() { Issue.record("\(problem)") }
    }
  }

  private func problems(_ world: OnboardingWorld, _ operators: ClientChannel, _ costs: CallCosts) async throws -> [String] {
    var walk = try CallCostWalk(OnboardingAPI.OnboardingService.self, costs)
    await walk.countStandard(over: world.channel)
    try await answers(world, &walk)
    try await submissions(world, &walk)
    try await voices(world, &walk)
    try await administration(world, operators, &walk)
    try await accounts(world, operators, &walk)
    return try walk.end()
  }

  /// Somebody whose answers are worked on, and who has a voice.
  private func done(_ world: OnboardingWorld, _ name: String, variant: Int) async throws -> TestUser {
    let user = try await world.signIn(name)
    let answer = try await world.client.complete(
      .init(
        state: try OnboardingWorld.record(voices: 6, variant: variant), voiceConsent: .init(isGiven: true, statement: "v1")),
      options: OnboardingWorld.options(user))
    guard answer.submission?.stage == .done, answer.voiceClone?.success == true else {
      throw TimedOut("a voice of \(name): \(answer)")
    }
    return user
  }

  // MARK: Answers

  private func answers(_ world: OnboardingWorld, _ walk: inout CallCostWalk) async throws {
    let ana = try await world.signIn("answers")
    let (options, client, nobody) = (OnboardingWorld.options(ana), world.client, OnboardingWorld.withoutSession())
    await walk.count("OnboardingService/ListSteps") { _ in _ = try await client.listSteps(options: nobody) }
    await walk.count("OnboardingService/SaveAnswer", "text") { number in
      _ = try await client.saveAnswer(.init(step: 3, answer: .written("Ana \(number)")), options: options)
    }
    await walk.count("OnboardingService/SaveAnswer", "voice of 200 KB") { number in
      let answer = OnboardingAnswer.spoken(SpokenFiles.tone(bytes: 200_000 + 2 * number), as: "audio/wav")
      _ = try await client.saveAnswer(.init(step: 2, answer: answer), options: options)
    }
    await walk.count("OnboardingService/GetProgress") { _ in _ = try await client.getProgress(options: options) }
    func key(_ number: Int) -> String { "a-key-of-somebody-without-account-\(number)" }
    let state = OnboardingState(responses: ["3": .written("Ana")])
    await walk.count("OnboardingService/SaveAnonymousProgress") { _ in
      _ = try await client.saveAnonymousProgress(.init(progressKey: key(0), state: state), options: nobody)
    }
    await walk.count("OnboardingService/GetAnonymousProgress") { _ in
      _ = try await client.getAnonymousProgress(.init(progressKey: key(0)), options: nobody)
    }
    await walk.count("OnboardingService/ClaimAnonymousProgress") { number in
      let user = try await world.signIn("claims \(number)")
      _ = try await client.saveAnonymousProgress(.init(progressKey: key(number + 1), state: state), options: nobody)
      _ = try await client.claimAnonymousProgress(
        .init(progressKey: key(number + 1)), options: OnboardingWorld.options(user))
    }
    func upload(_ number: Int) throws -> PieceUpload {
      // What the client library sends at once.
      PieceUpload(name: "a-walk-over-methods-\(number)", bytes: try SpokenFiles.m4a(number + 900), pieces: [256 << 10])
    }
    await walk.count("OnboardingService/UploadRecording") { number in _ = try await upload(number).send(world, as: ana) }
    await walk.count("OnboardingService/GetUpload") { _ in
      _ = try await client.getUpload(.init(uploadID: try upload(0).name), options: options)
    }
    await walk.count("OnboardingService/Transcribe") { number in
      let request = TranscribeRequest(audio: .init(try SpokenFiles.m4a(number + 910)), contentType: "audio/m4a")
      _ = try await client.transcribe(request, options: options)
    }
  }

  // MARK: Submissions

  private func submissions(_ world: OnboardingWorld, _ walk: inout CallCostWalk) async throws {
    let client = world.client
    await walk.count("OnboardingService/Complete", "15 recordings") { number in
      let user = try await world.signIn("completes \(number)")
      _ = try await client.complete(
        .init(state: try OnboardingWorld.record(variant: number + 300), wait: .init()), options: OnboardingWorld.options(user))
    }
    let options = OnboardingWorld.options(try await done(world, "submits", variant: 310))
    await walk.count("OnboardingService/GetSubmission") { _ in _ = try await client.getSubmission(options: options) }
    // It ends by itself: all has been done.
    await walk.count("OnboardingService/WatchSubmission") { _ in
      try await client.watchSubmission(options: options) { responses in for try await _ in responses {} }
    }
    await walk.count("OnboardingService/ReExtract") { _ in _ = try await client.reExtract(options: options) }
    await walk.count("IdentityService/GetIdentity") { _ in _ = try await world.identity.getIdentity(options: options) }
    await walk.count("IdentityService/CorrectIdentity") { number in
      _ = try await world.identity.correctIdentity(
        .init(name: "core_struggle", value: "Sleeps too little \(number)"), options: options)
    }
  }

  // MARK: Voices

  private func voices(_ world: OnboardingWorld, _ walk: inout CallCostWalk) async throws {
    let options = OnboardingWorld.options(try await done(world, "speaks", variant: 320))
    await walk.count("VoiceService/GetVoice") { _ in _ = try await world.voices.getVoice(options: options) }
    await walk.count("VoiceService/ListVoiceClips") { _ in _ = try await world.voices.listVoiceClips(options: options) }
    await walk.count("VoiceService/CloneVoice") { number in
      let user = try await done(world, "speaks anew \(number)", variant: 321 + number)
      _ = try await world.voices.cloneVoice(.init(idempotencyKey: "once"), options: OnboardingWorld.options(user))
    }
    await walk.count("VoiceService/WithdrawVoiceConsent") { number in
      let user = try await done(world, "withdraws \(number)", variant: 330 + number)
      _ = try await world.voices.withdrawVoiceConsent(options: OnboardingWorld.options(user))
    }
    await walk.count("VoiceService/GiveVoiceConsent") { number in
      let user = try await world.signIn("consents \(number)")
      _ = try await world.voices.giveVoiceConsent(.init(statement: "v1"), options: OnboardingWorld.options(user))
    }
  }

  // MARK: Operators

  private func administration(
    _ world: OnboardingWorld, _ operators: ClientChannel, _ walk: inout CallCostWalk
  ) async throws {
    let user = try await done(world, "is looked after", variant: 340).userID.description
    let (admin, options) = (OnboardingAdminService.Client(operators), OnboardingWorld.withoutSession())
    await walk.count("OnboardingAdminService/InspectOnboarding") { _ in
      _ = try await admin.inspectOnboarding(.init(userID: user), options: options)
    }
    await walk.count("OnboardingAdminService/ListUnfinished") { _ in _ = try await admin.listUnfinished(options: options) }
    func settled() async throws { try await eventually { try await world.submissionJobs() == 0 } }
    await walk.count("OnboardingAdminService/RetryTranscription") { _ in
      try await settled()
      try await world.execute([
        "update onboarding.recording set state = 'failed', reason = 'timeout', transcript = null where user_id::text = \(user)"
      ])
      _ = try await admin.retryTranscription(.init(userID: user), options: options)
    }
    await walk.count("OnboardingAdminService/RetryIdentityExtraction") { _ in
      try await settled()
      try await world.execute(["update onboarding.identity set failure = 'timeout' where user_id::text = \(user)"])
      _ = try await admin.retryIdentityExtraction(.init(userID: user), options: options)
    }
    await walk.count("OnboardingAdminService/RetryVoiceClone") { _ in
      try await settled()
      try await eventually {
        try await world.value(
          "select state = 'ready' from onboarding.voice where user_id::text = \(user)", as: Bool.self) == true
      }
      try await world.execute(["update onboarding.voice set failure = 'timeout' where user_id::text = \(user)"])
      _ = try await admin.retryVoiceClone(.init(userID: user), options: options)
    }
    await walk.countJobs(as: operators) {
      let id: String? = try await world.value(
        """
        insert into onboarding.dead_job (
          id, queue, kind, version, priority, payload, attempt, max_attempts, run_lease, enqueued_at, steps, progress_done,
          progress_total, progress_note, died_at, reason, last_error)
        values (gen_random_uuid(), 'default', 'walk.unknown', 1, 2, '', 1, 1, 0, now(), 0, 0, 0, '', now(), 'permanent', 'never')
        returning id::text
        """, as: String.self)
      return try #require(id)
    }
  }

  // MARK: Other services

  private func accounts(_ world: OnboardingWorld, _ services: ClientChannel, _ walk: inout CallCostWalk) async throws {
    let (data, options) = (AccountDataService.Client(services), OnboardingWorld.withoutSession())
    let user = try await done(world, "is exported", variant: 350).userID.description
    await walk.count("AccountDataService/Report") { _ in _ = try await data.report(.init(userID: user), options: options) }
    await walk.count("AccountDataService/Export") { _ in
      try await data.export(.init(userID: user), options: options) { responses in for try await _ in responses {} }
    }
    await walk.count("AccountDataService/Delete") { number in
      let leaves = try await done(world, "leaves \(number)", variant: 351 + number)
      try await eventually { try await world.submissionJobs() == 0 }
      _ = try await data.delete(
        .init(userID: leaves.userID.description, workID: UUID.v7().description), options: options)
    }
  }

  @Test(
    "A migration leaves the statements of the last release as they are: each can be prepared on the schema as it is now (PF-04)")
  func statements() async throws {
    let recorded = try RecordedStatements(of: "onboarding")
    try await TestDatabase.with { database in
      let url = try await database.prepare("onboarding", OnboardingMigrations.all)
      #expect(try await recorded.refused(at: url, on: database) == [])
      // One that did not leave them would be seen.
      try await database.script("alter table onboarding.submission rename column stage to phase")
      #expect(try await !recorded.refused(at: url, on: database).isEmpty)
    }
  }
}
