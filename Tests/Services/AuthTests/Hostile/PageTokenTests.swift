import AuthAPI
import JOSE
import MessagesCore
import ParleyAPI
import RPC
import TestParley
import TestSupport
import Testing

@Suite("Forged page tokens")
struct PageTokenTests {
  @Test("No list takes a token that was not made for it and its reader, whatever is in it (BB-02)")
  func forged() async throws {
    try await SignInTests.with(UnstorableTextTests.unlimited) { service, _ in
      let ana = try await service.signIn()
      for _ in 0..<2 { _ = try await service.signIn() }
      let (user, access) = (ana.profile?.userID ?? "", ana.tokens?.accessToken ?? "")
      var others: [String] = []
      for _ in 0..<2 { others.append(try await service.signIn("bo").tokens?.accessToken ?? "") }
      let sessions = try await service.auth.listSessions(.init(pageSize: 1), options: service.from("192.0.2.1", access))
      let activity = try await service.auth.listActivity(.init(pageSize: 1), options: service.from("192.0.2.1", access))
      let foreign = try await service.auth.listSessions(.init(pageSize: 1), options: service.from("192.0.2.1", others[0]))
      let genuine = sessions.nextPageToken
      #expect(!genuine.isEmpty && !activity.nextPageToken.isEmpty && !foreign.nextPageToken.isEmpty)
      let cut = try #require(Base64URL.decode(genuine))
      let forged =
        [
          foreign.nextPageToken, "?", "\u{0}", "x", UUIDText.zero, Base64URL.encode(cut.dropLast()), Base64URL.encode(cut + [0]),
          Base64URL.encode([cut[0] ^ 1] + cut.dropFirst()), String(repeating: "A", count: 4096),
          // The time of a place before PostgreSQL's first year, 4714 BC, and after its last one.
          Base64URL.encode([0x80] + [UInt8](repeating: 0, count: 23)),
          Base64URL.encode([0x7f] + [UInt8](repeating: 255, count: 23)),
        ] + [15, 16, 17, 24, 32, 40].map { Base64URL.encode(SecureRandom.bytes($0)) }
      let paged = AuthService.services.flatMap(\.methods).filter {
        $0.requestDescriptor.fields.contains { $0.name == "page_token" }
      }
      #expect(
        paged.map(\.name).sorted() == [
          "GetLedger", "ListActivity", "ListAudit", "ListJobs", "ListSessions", "ListUserSessions", "ListUsers",
        ])
      for method in paged {
        // The list's own token, which another list must not take.
        let alien = method.name == "ListSessions" ? activity.nextPageToken : genuine
        for token in forged + [alien] {
          let walk = RequestWalk(putting: token) { method, field in
            field == "user_id" ? user : field == "capability" ? "default" : nil
          }
          let (channel, options) =
            method.access == .admin
            ? (service.operators, service.from()) : (service.channel, service.from("192.0.2.1", access))
          let error = try await walk.step(of: method, field: "page_token").send(over: channel, options)
          #expect(
            error?.code == .invalidArgument && error?.reason != nil,
            "\(method.name) \(token.prefix(60)): \(error.map { "\($0)" } ?? "OK")")
        }
      }
      let next = try await service.auth.listSessions(
        .init(pageSize: 1, pageToken: genuine), options: service.from("192.0.2.1", access))
      #expect(next.sessions.count == 1 && next.sessions[0].id != sessions.sessions[0].id)
    }
  }

  private enum UUIDText { static let zero = "00000000-0000-0000-0000-000000000000" }
}
