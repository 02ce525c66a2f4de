import ServiceKit
import Testing

@Suite("Remembered entitlements")
struct RememberedEntitlementsTests {
  @Test("A yes holds until its moment and not at it, and is gone when there is news")
  func holds() {
    let remembered = RememberedEntitlements<String, Int>()
    remembered.remember("ana", until: 60, at: 0)
    #expect(remembered.validity(of: "ana", at: 59) == 60 && remembered.validity(of: "ana", at: 60) == nil)
    #expect(remembered.validity(of: "ben", at: 0) == nil)
    remembered.forget("ana")
    #expect(remembered.validity(of: "ana", at: 0) == nil)
  }

  @Test("Full of what still holds, it forgets all; what has run out makes room first")
  func bounded() {
    let remembered = RememberedEntitlements<Int, Int>(capacity: 3)
    for person in 1...3 { remembered.remember(person, until: person * 10, at: 0) }
    remembered.remember(4, until: 100, at: 10)
    #expect([1, 2, 3, 4].map { remembered.validity(of: $0, at: 10) } == [nil, 20, 30, 100])
    remembered.remember(2, until: 50, at: 10)
    #expect(remembered.validity(of: 2, at: 10) == 50)
    remembered.remember(5, until: 100, at: 10)
    #expect([2, 3, 4, 5].map { remembered.validity(of: $0, at: 10) } == [nil, nil, nil, 100])
  }
}
