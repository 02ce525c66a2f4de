import EventLoop
import OnboardingDomain
import ParleyAPI
import Testing
import WellKnown

@testable import OnboardingAPI

@Suite("Answers that are looked into beside the loop") struct OffloadedAnswerTests {
  @Test(
    "The bytes of a large answer are read on a thread of the pool, whatever form they come in; those of a small one where it came (OF-09)"
  )
  func large() async throws {
    let pool = BlockingPool(maximumThreads: 1)
    let steps = try StepsFolder.catalogues(nil).newest
    let large = OnboardingAnswer.spoken(SpokenFiles.tone(bytes: 100_000), as: "audio/wav")
    let small = OnboardingAnswer.spoken(SpokenFiles.tone(bytes: 10_000), as: "audio/wav")
    let looked = try await LookedAnswer.looked(large, step: 2, steps, on: pool)
    #expect(try looked.recording?.get().bytes == SpokenFiles.tone(bytes: 100_000))
    pool.shutDown()
    // Nobody reads them any more.
    let object = OnboardingAnswer(
      type: "voice", value: .init(kind: .structValue(.init(fields: ["data": large.value ?? .init()]))))
    for answer in [large, object] {
      let error = await #expect(throws: EventLoopError.self) {
        try await LookedAnswer.looked(answer, step: 2, steps, on: pool)
      }
      #expect(error?.code == .stopped)
    }
    #expect(try await LookedAnswer.looked(small, step: 2, steps, on: pool).recording?.get().bytes.count == 10_000)
    let refused = await #expect(throws: OnboardingRefusal.self) {
      try await LookedAnswer.looked(.init(type: String(repeating: "x", count: 33)), step: 2, steps, on: pool)
    }
    #expect(refused == .invalid(field: "answer.type", "at most 32 bytes, and no U+0000"))
  }
}
