import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("Texts that PostgreSQL does not keep")
struct UnstorableTextTests {
  /// U+0000 at the end, so that it is not the first byte that is looked at.
  private static let text = "ana\u{0}"

  private static let queries: [Query] = [
    "select \(text)", "select \(text)::text is null", "select \([text, "b"])", "select \(["", "a", "b\u{0}c"])",
    "select \(INET(text))",
    "select \(JSONB("{\"a\":\"\u{0}\"}"))", "select \(part: "length(\(text))")", "select \(Optional(text))",
    // The server finds what is written as an escape.
    "select \(JSONB(#"{"a":"\u0000"}"#))",
  ]

  @Test(
    "A text with U+0000 is refused as what it is, whatever it is part of and however it is sent (BB-03)",
    arguments: queries.indices)
  func refused(_ index: Int) async throws {
    let query = Self.queries[index]
    try await TestDatabase.with { test in
      try await test.open { database in
        let errors = [
          await databaseError { _ = try await database.reads.run(query) },
          await databaseError { _ = try await database.run(query) },
          await databaseError { _ = try await database.transaction { try await $0.run(query) } },
        ]
        #expect(errors.map { $0?.code } == [.unstorableText, .unstorableText, .unstorableText])
      }
    }
  }

  @Test("Bytes and numbers may hold zeros, and so may the heads of arrays")
  func kept() async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        let row: ([UInt8], Int, [String], [Int], [String])? = try await database.reads.row(
          "select \([0, 1, 0] as [UInt8]), \(0), \(["", "a", ""]), \([0, 256]), \([] as [String])")
        let found = try #require(row)
        #expect(found.0 == [0, 1, 0] && found.1 == 0 && found.2 == ["", "a", ""] && found.3 == [0, 256] && found.4.isEmpty)
      }
    }
  }

  @Test("A transaction in which such a text was caught goes on, and is whole (BB-03)")
  func transaction() async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        try await database.execute("create table kept (word text not null)")
        try await database.transaction { transaction in
          // Before its first statement: what follows must still be in it.
          let error = await databaseError { try await transaction.execute("insert into kept values (\(Self.text))") }
          #expect(error?.code == .unstorableText)
          try await transaction.execute("insert into kept values ('first')")
          let again = await databaseError { try await transaction.execute("insert into kept values (\(Self.text))") }
          #expect(again?.code == .unstorableText)
          try await transaction.execute("insert into kept values ('second')")
        }
        struct Undone: Error {}
        await #expect(throws: Undone.self) {
          try await database.transaction { transaction in
            _ = try? await transaction.execute("insert into kept values (\(Self.text))")
            try await transaction.execute("insert into kept values ('third')")
            throw Undone()
          }
        }
        let words: [String] = try await database.rows("select word from kept order by word")
        #expect(words == ["first", "second"])
      }
    }
  }
}
