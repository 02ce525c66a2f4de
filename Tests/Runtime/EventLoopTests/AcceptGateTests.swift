import EventLoop
import Testing

@Suite("Limits on connections")
struct AcceptGateTests {
  private func limits(_ connections: Int, _ perAddress: Int) -> AcceptLimits {
    var limits = AcceptLimits()
    limits.connections = connections
    limits.connectionsPerAddress = perAddress
    return limits
  }

  private func address(_ text: String) throws -> SocketAddress { try SocketAddress(text) }

  @Test("The defaults are 65,536 connections and 4,096 from one address")
  func defaults() {
    #expect(AcceptLimits().connections == 65_536)
    #expect(AcceptLimits().connectionsPerAddress == 4_096)
  }

  @Test("As many as may be are let in, one more is not, and one that leaves makes room")
  func total() throws {
    let gate = AcceptGate(limits(3, 100))
    for port in 1...3 { #expect(gate.enter(try address("10.0.0.\(port):1")) == nil) }
    #expect(gate.enter(try address("10.0.0.9:1")) == .full)
    #expect(gate.connections == 3)
    gate.leave(try address("10.0.0.2:1"))
    #expect(gate.enter(try address("10.0.0.9:1")) == nil)
  }

  @Test(
    "One address has its own limit, whatever the port; a /64 network of IPv6 counts as one, as does IPv4 within IPv6",
    arguments: [
      (["10.0.0.1:1", "10.0.0.1:2"], "10.0.0.1:3", "10.0.0.2:1"),
      (["[2001:db8::1]:1", "[2001:db8::ffff:2]:1"], "[2001:db8:0:0:9::]:1", "[2001:db8:0:1::1]:1"),
      (["[::ffff:10.0.0.1]:1", "10.0.0.1:2"], "[::ffff:10.0.0.1]:3", "[::ffff:10.0.0.2]:1"),
    ])
  func perAddress(_ inside: [String], _ refused: String, _ other: String) throws {
    let gate = AcceptGate(limits(100, 2))
    for text in inside { #expect(gate.enter(try address(text)) == nil) }
    #expect(gate.enter(try address(refused)) == .fullForAddress)
    #expect(gate.enter(try address(other)) == nil)
    #expect(gate.connections == 3)
    gate.leave(try address(inside[0]))
    #expect(gate.enter(try address(refused)) == nil)
  }

  @Test("Unix sockets count in all, and have no address")
  func unix() throws {
    let gate = AcceptGate(limits(2, 1))
    let peer = SocketAddress(.unix(path: "/run/x.sock"))
    #expect(gate.enter(peer) == nil && gate.enter(peer) == nil)
    #expect(gate.enter(peer) == .full)
  }
}
