import EventLoop
import RPC
import RPCClient
import Synchronization
import TestAPI
import TestSupport
import Testing

/// A resolver that answers what a test says.
private final class Book: NameResolver {
  private let answer: Mutex<Result<[SocketAddress], RPCError>>
  private let gate: Mutex<[CheckedContinuation<Void, Never>]?>
  let asked = Tally("queries")

  init(_ addresses: [SocketAddress], isHeld: Bool = false) {
    answer = Mutex(.success(addresses))
    gate = Mutex(isHeld ? [] : nil)
  }

  func set(_ answer: Result<[SocketAddress], RPCError>) { self.answer.withLock { $0 = answer } }

  /// Lets the queries that are held, and all further ones, be answered.
  func release() {
    let held = gate.withLock { gate in
      defer { gate = nil }
      return gate ?? []
    }
    for query in held { query.resume() }
  }

  func addresses(of host: String, port: UInt16) async throws -> [SocketAddress] {
    asked.add()
    await withCheckedContinuation { continuation in
      let isHeld = gate.withLock { gate in
        gate?.append(continuation)
        return gate != nil
      }
      if !isHeld { continuation.resume() }
    }
    return try answer.withLock { $0 }.get()
  }
}

@Suite("Name resolution")
struct ResolutionTests {
  private func channel(
    _ fleet: Fleet, _ book: Book, _ witness: Witness? = nil, _ policy: LoadBalancingPolicy = .pickFirst(),
    interval: Duration = .seconds(30)
  ) -> ClientChannel {
    var configuration = ClientChannelConfiguration.quick(witness, policy)
    configuration.resolver = book
    configuration.resolutionInterval = interval
    return ClientChannel(to: .host("echo.test", port: 1), on: fleet.clients, configuration: configuration)
  }

  @Test("A name is looked up when the first call needs it, and its addresses are kept")
  func cached() async throws {
    try await Fleet.run(1) { fleet in
      let book = Book(fleet.addresses)
      let channel = channel(fleet, book)
      #expect(book.asked.value == 0)
      let client = EchoService.Client(channel)
      for _ in 0..<5 { _ = try await client.echo() }
      #expect(book.asked.value == 1)
      await channel.close()
    }
  }

  @Test("The system's own resolver knows localhost")
  func system() async throws {
    try await Fleet.run(1) { fleet in
      let port = try #require(fleet.addresses[0].port)
      let channel = ClientChannel(to: .host("localhost", port: port), on: fleet.clients, configuration: .quick())
      _ = try await EchoService.Client(channel).echo(options: .timeout(.seconds(20)))
      await channel.close()
    }
  }

  @Test("Many calls on several loops wait for one query")
  func single() async throws {
    try await Fleet.run(1, loops: 2) { fleet in
      let book = Book(fleet.addresses, isHeld: true)
      let channel = channel(fleet, book)
      let client = EchoService.Client(channel)
      try await withThrowingTaskGroup(of: Void.self) { calls in
        for index in 0..<20 {
          calls.addTask(executorPreference: fleet.clients.loops[index % 2]) {
            _ = try await client.echo(options: .timeout(.seconds(20)))
          }
        }
        try await book.asked.reaches(1)
        book.release()
        try await calls.waitForAll()
      }
      #expect(book.asked.value == 1)
      #expect(fleet.calls == [20])
      await channel.close()
    }
  }

  @Test("A name without an answer makes calls UNAVAILABLE, saying why; the next answer serves whoever waited")
  func failure() async throws {
    try await Fleet.run(1) { fleet in
      let book = Book([])
      book.set(.failure(RPCError(.unavailable, "no such name here")))
      let witness = Witness()
      let channel = channel(fleet, book, witness)
      let client = EchoService.Client(channel)
      let error = await ClientTests.failure(client)
      #expect(error?.code == .unavailable && error?.message.contains("no such name here") == true)
      #expect(witness.states.last == .failing)
      book.set(.success([]))
      #expect(await ClientTests.failure(client)?.code == .unavailable)
      book.set(.success(fleet.addresses))
      #expect(await ClientTests.failure(client, .init(deadline: .after(.seconds(20)), waitsForReady: true)) == nil)
      await channel.close()
    }
  }

  @Test("A query without an answer makes calls UNAVAILABLE after the connect timeout, and a late answer still serves")
  func silence() async throws {
    try await Fleet.run(1) { fleet in
      let book = Book(fleet.addresses, isHeld: true)
      var configuration = ClientChannelConfiguration.quick()
      configuration.resolver = book
      configuration.connectTimeout = .milliseconds(30)
      let channel = ClientChannel(to: .host("echo.test", port: 1), on: fleet.clients, configuration: configuration)
      let client = EchoService.Client(channel)
      #expect(await ClientTests.failure(client)?.code == .unavailable)
      book.release()
      #expect(await ClientTests.failure(client, .init(deadline: .after(.seconds(20)), waitsForReady: true)) == nil)
      #expect(book.asked.value == 1)
      await channel.close()
    }
  }

  @Test("When a server says goodbye the name is looked up again, but not before its interval has passed")
  func refresh() async throws {
    try await Fleet.run(2) { fleet in
      let book = Book([fleet.addresses[0]])
      let witness = Witness()
      let patient = channel(fleet, book)
      let channel = channel(fleet, book, witness, interval: .zero)
      let client = EchoService.Client(channel)
      _ = try await client.echo()
      _ = try await EchoService.Client(patient).echo()
      #expect(book.asked.value == 2)
      book.set(.success([fleet.addresses[1]]))
      try await fleet.members[0].stop()
      #expect(await ClientTests.failure(client, .init(deadline: .after(.seconds(20)), waitsForReady: true)) == nil)
      #expect(fleet.calls == [1 + 1, 1])
      // The other one has thirty seconds to wait, and knows only a server that is gone.
      #expect(await ClientTests.failure(EchoService.Client(patient))?.code == .unavailable)
      #expect(witness.resolutions == book.asked.value - 1)
      await channel.close()
      await patient.close()
    }
  }

  @Test("An answer changes only what is new or gone: connections that remain stay, one that goes lets its call finish")
  func update() async throws {
    try await Fleet.run(3) { fleet in
      let book = Book(Array(fleet.addresses[0...1]))
      let witness = Witness()
      let channel = channel(fleet, book, witness, .roundRobin, interval: .zero)
      let client = EchoService.Client(channel)
      _ = try await client.echo()
      try await witness.open.reaches(2)
      // A call that lasts, on either of the two.
      let sleep = EventLoop.current?.spawn { _ = try? await client.sleep(options: .timeout(.seconds(30))) }
      let sleepers = fleet.members.map(\.server.handlers)
      while sleepers[0].sleeping.value + sleepers[1].sleeping.value == 0 {
        try await EventLoop.current?.sleep(for: .milliseconds(5))
      }  // between two looks
      let busy = sleepers[0].sleeping.value == 1 ? 0 : 1
      // The busy one goes, a new one comes; the idle one's end is the reason to look.
      book.set(.success([fleet.addresses[2]]))
      try await fleet.members[1 - busy].stop()
      try await witness.opened.reaches(3)
      #expect(fleet.members[2].server.connections.value == 1)
      // The connection to the busy one takes no calls any more, and still serves the one it has.
      for _ in 0..<10 { _ = try await client.echo() }
      #expect(fleet.calls[2] >= 10)
      #expect(fleet.members[busy].server.connections.value == 1)
      #expect(sleepers[busy].cancelled.value == 0)
      sleep?.cancel()
      await sleep?.value
      try await fleet.members[busy].server.connections.wait { $0 == 0 }
      await channel.close()
    }
  }

  @Test("An answer that names the address in use again keeps its connection")
  func same() async throws {
    try await Fleet.run(2) { fleet in
      let book = Book([try fleet.closedAddress(), fleet.addresses[0]])
      let witness = Witness()
      let channel = channel(fleet, book, witness, interval: .zero)
      let client = EchoService.Client(channel)
      // The first round fails and asks again.
      book.set(.success([try fleet.closedAddress()]))
      #expect(await ClientTests.failure(client)?.code == .unavailable)
      book.set(.success([fleet.addresses[0], fleet.addresses[1]]))
      #expect(await ClientTests.failure(client, .init(deadline: .after(.seconds(20)), waitsForReady: true)) == nil)
      let before = book.asked.value
      #expect(witness.opened.value == 1)
      for _ in 0..<3 { _ = try await client.echo() }
      #expect(witness.opened.value == 1 && book.asked.value == before && fleet.calls == [4, 0])
      await channel.close()
    }
  }
}
