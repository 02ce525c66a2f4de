import Testing

@testable import PostgreSQL

@Suite("The pipeline's account of answers")
struct PipelineTests {
  private func describe(_ action: Pipeline<Int>.Action) -> String { "\(action)" }

  @Test("An error answers its own read; what follows in the segment is sent again, what came before was answered")
  func segment() {
    var pipeline = Pipeline<Int>()
    for read in 1...3 { pipeline.sent(.read(read)) }
    pipeline.sent(.sync(nil))
    #expect(describe(pipeline.handle(.success)) == "answer(1)")
    #expect(describe(pipeline.handle(.failure)) == "fail(2, unprepared: nil)")
    #expect(describe(pipeline.handle(.aborted)) == "resend(3)")
    #expect(describe(pipeline.handle(.sync)) == "segmentEnded")
    #expect(pipeline.isIdle)
  }

  @Test("A PREPARE that fails answers its read once; one that was aborted did not happen")
  func prepare() {
    var pipeline = Pipeline<Int>()
    pipeline.sent(.prepare(statement: 0, 1, isRead: true))
    pipeline.sent(.read(1))
    pipeline.sent(.prepare(statement: 1, 2, isRead: true))
    pipeline.sent(.read(2))
    pipeline.sent(.sync(nil))
    #expect(describe(pipeline.handle(.failure)) == "fail(1, unprepared: Optional(0))")
    #expect(describe(pipeline.handle(.aborted)) == "none")
    #expect(describe(pipeline.handle(.aborted)) == "unprepared(statement: 1)")
    #expect(describe(pipeline.handle(.aborted)) == "resend(2)")
    #expect(describe(pipeline.handle(.sync)) == "segmentEnded")
  }

  @Test("A PREPARE for one read alone changes nothing that others know")
  func prepareAlone() {
    for (event, action) in [(Pipeline<Int>.Event.success, "none"), (.aborted, "none"), (.failure, "fail(1, unprepared: nil)")] {
      var pipeline = Pipeline<Int>()
      pipeline.sent(.prepare(statement: nil, 1, isRead: true))
      #expect(describe(pipeline.handle(event)) == action)
    }
  }

  @Test("A transaction is answered by its sync, also when the commit itself fails")
  func commit() {
    var pipeline = Pipeline<Int>()
    pipeline.sent(.step(1))
    pipeline.sent(.sync(1))
    #expect(describe(pipeline.handle(.success)) == "collect(1)")
    #expect(describe(pipeline.handle(.failure)) == "collectFailure(1, unprepared: nil)")
    #expect(describe(pipeline.handle(.sync)) == "finish(1)")
  }

  @Test("A broken connection gives back each request without an answer once, in order")
  func abandon() {
    var pipeline = Pipeline<Int>()
    pipeline.sent(.prepare(statement: 0, 1, isRead: true))
    pipeline.sent(.read(1))
    pipeline.sent(.read(2))
    pipeline.sent(.sync(nil))
    pipeline.sent(.prepare(statement: 1, 3, isRead: false))
    pipeline.sent(.step(3))
    pipeline.sent(.step(3))
    pipeline.sent(.sync(3))
    _ = pipeline.handle(.failure)  // answers read 1
    #expect(pipeline.abandon() == [2, 3])
    #expect(pipeline.isIdle)
  }

  @Test("An answer to nothing, or of the wrong kind, is a violation")
  func violation() {
    var pipeline = Pipeline<Int>()
    #expect(describe(pipeline.handle(.success)) == "violation")
    pipeline.sent(.read(1))
    #expect(describe(pipeline.handle(.sync)) == "violation")
  }

  @Test("The ring keeps its order while it grows and wraps")
  func ring() {
    var ring = Ring<Int>()
    var next = 0
    for round in 1...40 {
      for _ in 0..<round { ring.append(next); next += 1 }
      for _ in 0..<(round / 2) { _ = ring.popFirst() }
    }
    var rest: [Int] = []
    while let value = ring.popFirst() { rest.append(value) }
    #expect(rest == Array((next - rest.count)..<next) && ring.isEmpty)
  }
}
