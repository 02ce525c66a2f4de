import PostgreSQL
import TestSupport
import Testing

@Suite("Queries")
struct QueryTests {
  @Test("Interpolations become numbered parameters, fragments become text")
  func text() {
    let condition: Query = "owner = \(7) and name = \("x")"
    let query: Query = "select \(1) where \(part: condition) or \(true) order by id \(fragment: "desc")"
    #expect(query.text == "select $1 where owner = $2 and name = $3 or $4 order by id desc")
  }

  @Test(
    "What looks like SQL stays data",
    arguments: [
      "'; drop table victim; --", "\\'; drop table victim; --", "$1", "x') or true --", "\"; select 1; --", "%s {0} :name",
    ])
  func injection(text: String) async throws {
    try await TestDatabase.with { test in
      try await test.script("create table victim (name text)")
      try await test.open { database in
        try await database.execute("insert into victim values (\(text))")
        let rows: [String] = try await database.reads.rows("select name from victim where name = \(text)")
        #expect(rows == [text])
        let none: [String] = try await database.reads.rows("select name from victim where name = \(text + " ")")
        #expect(none.isEmpty)
      }
    }
  }

  @Test("A NUL in a text parameter is refused before anything is sent, and changes nothing else")
  func nul() async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        let error = await databaseError { let _: String? = try await database.reads.row("select \("a\0b")") }
        #expect(error?.code == .unstorableText && error?.sqlState == nil)
        let next: Int? = try await database.reads.value("select 1")
        #expect(next == 1)
      }
    }
  }
}
