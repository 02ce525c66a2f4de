import RPC
import TestAPI
import Testing

@testable import RPCClient

/// What a config's entry means for a call.
@Suite("Method config")
struct MethodConfigTests {
  private typealias Methods = EchoService.Methods
  private static let service = "parley.testing.v1.EchoService"

  private func table(_ entries: (MethodConfig.Name, Int)...) -> MethodConfigTable {
    MethodConfigTable(entries.map { MethodConfig([$0.0], maximumRequestBytes: $0.1) })
  }

  @Test("A method's own entry counts, else its service's, else the one for everything")
  func order() {
    let table = table(
      (.init(), 1), (.init(service: Self.service), 2), (.init(service: Self.service, method: "Echo"), 3),
      (.init(service: "other", method: "Fail"), 4))
    #expect(table[Methods.echo.info]?.maximumRequestBytes == 3)
    #expect(table[Methods.fail.info]?.maximumRequestBytes == 2)
    #expect(self.table((.init(), 1), (.init(service: "other"), 2))[Methods.echo.info]?.maximumRequestBytes == 1)
    #expect(self.table((.init(service: "other"), 2))[Methods.echo.info] == nil)
    #expect(MethodConfigTable([]).isEmpty && MethodConfigTable([])[Methods.echo.info] == nil)
  }

  @Test("Of the caller's limits and the entry's the stricter ones hold")
  func limits() throws {
    let config = MethodConfig([.init()], timeout: .seconds(10), waitsForReady: true, maximumResponseBytes: 100)
    let plain = config.applied(to: CallOptions())
    let left = try #require(plain.deadline?.timeLeft)
    #expect(left > .seconds(9) && left <= .seconds(10))
    #expect(plain.waitsForReady && plain.maximumResponseBytes == 100)
    let early = Deadline.after(.seconds(1))
    #expect(config.applied(to: CallOptions(deadline: early, maximumResponseBytes: 99)).deadline == early)
    #expect(config.applied(to: CallOptions(maximumResponseBytes: 99)).maximumResponseBytes == 99)
    #expect(config.applied(to: CallOptions(maximumResponseBytes: 101)).maximumResponseBytes == 100)
    #expect(config.applied(to: CallOptions(deadline: .after(.seconds(11)))).deadline.map { $0.timeLeft <= .seconds(10) } == true)
    let none = MethodConfig([.init()], waitsForReady: false).applied(to: CallOptions(waitsForReady: true))
    #expect(none.waitsForReady && none.deadline == nil && none.maximumResponseBytes == nil)
  }
}
