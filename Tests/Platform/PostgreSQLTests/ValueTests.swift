import PostgreSQL
import TestSupport
import Testing
import Values

@Suite("Values as parameters and columns")
struct ValueTests {
  /// Sends a value, reads it back, and compares what the server makes of it as text.
  private func roundTrip<Value: SQLEncodable & SQLDecodable & Equatable>(
    _ values: [(Value, String?)], on database: Database, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    for (value, text) in values {
      let row: (Value, String?)? = try await database.reads.row("select \(value), \(value)::text")
      #expect(row?.0 == value && row?.1 == text, sourceLocation: sourceLocation)
      let null: Value?? = try await database.reads.row("select \(Value?.none)")
      #expect(null == .some(.none), sourceLocation: sourceLocation)
    }
  }

  @Test("Every type comes back as it was sent, at its edges and as NULL")
  func roundTrips() async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        try await roundTrip([(true, "true"), (false, "false")], on: database)
        try await roundTrip([(Int16.min, "-32768"), (.max, "32767")], on: database)
        try await roundTrip([(Int32.min, "-2147483648"), (.max, "2147483647")], on: database)
        try await roundTrip([(Int64.min, "-9223372036854775808"), (.max, "9223372036854775807")], on: database)
        try await roundTrip([(Int.min, "-9223372036854775808"), (0, "0")], on: database)
        try await roundTrip(
          [(0.1, "0.1"), (-Double.infinity, "-Infinity"), (Double.greatestFiniteMagnitude, "1.7976931348623157e+308")],
          on: database)
        try await roundTrip(
          [
            ("", ""), ("a'b\"c\\ñ🚲\n", "a'b\"c\\ñ🚲\n"),
            (String(repeating: "x", count: 100_000), String(repeating: "x", count: 100_000)),
          ], on: database)
        try await roundTrip([([UInt8](), "\\x"), ([0, 255, 92], "\\x00ff5c")], on: database)
        try await roundTrip(
          [
            (UUID(high: 0, low: 0), "00000000-0000-0000-0000-000000000000"),
            (UUID(high: .max, low: 1), "ffffffff-ffff-ffff-0000-000000000001"),
          ], on: database)
        try await roundTrip(
          [
            (Instant(microseconds: 0), "1970-01-01 00:00:00+00"),
            (Instant(microseconds: 946_684_799_999_999), "1999-12-31 23:59:59.999999+00"),
            (.distantFuture, "infinity"), (.distantPast, "-infinity"),
          ], on: database)
        try await roundTrip([(JSONB(#"{"a": [1, null]}"#), #"{"a": [1, null]}"#)], on: database)
        try await roundTrip(
          [
            (INET("192.0.2.1"), "192.0.2.1/32"), (INET("10.0.0.0/8"), "10.0.0.0/8"), (INET("2001:db8::1"), "2001:db8::1/128"),
            (INET("::"), "::/128"), (INET("1:0:0:2::3"), "1:0:0:2::3/128"), (INET("::ffff:1.2.3.4"), "::ffff:1.2.3.4/128"),
            (INET("1:2:3:4:5:6:0:8"), "1:2:3:4:5:6:0:8/128"),
          ], on: database)
        try await roundTrip([([Int64](), "{}"), ([1, -2], "{1,-2}")], on: database)
        try await roundTrip([(["a", "", "{,}"], #"{a,"","{,}"}"#)], on: database)
        try await roundTrip([([UUID(high: 1, low: 2)], "{00000000-0000-0001-0000-000000000002}")], on: database)
      }
    }
  }

  private enum Mood: String, SQLValue { case glad, sad }

  private struct Person: RowDecodable {
    let name: String
    let age: Int?
    init(_ row: Row) throws(DatabaseError) { (name, age) = try row.decode() }
  }

  @Test(
    "Rows decode into structs, enumerations and narrower or wider integers; what does not fit is an error that names the column")
  func decoding() async throws {
    try await TestDatabase.with { test in
      try await test.script("create type mood as enum ('glad', 'sad')")
      try await test.open { database in
        let people: [Person] = try await database.reads.rows(
          "select * from (values ('ana', 7), ('bo', null::int)) as v order by 1")
        #expect(people.map(\.name) == ["ana", "bo"] && people.map(\.age) == [7, nil])
        #expect(try await database.reads.value("select 'sad'::mood") == Mood.sad)
        #expect(try await database.reads.value("select 7::int8") == Int16(7))
        let narrow = await databaseError { let _: Int16? = try await database.reads.row("select 70000::int8 as big") }
        #expect(narrow?.code == .decodingFailed && narrow?.message.contains("(big)") == true)
        let null = await databaseError { let _: Int? = try await database.reads.row("select null::int8") }
        #expect(null?.code == .decodingFailed)
        let type = await databaseError { let _: Int? = try await database.reads.row("select 'x'") }
        #expect(type?.code == .decodingFailed)
        let columns = await databaseError { let _: (Int, Int)? = try await database.reads.row("select 1") }
        #expect(columns?.code == .decodingFailed)
      }
    }
  }

  @Test("UUIDs of version 7 sort by time, carry version and variant, and survive their text")
  func uuids() {
    let early = UUID.v7(at: Instant(microseconds: 1_700_000_000_000_001))
    let late = UUID.v7(at: Instant(microseconds: 1_700_000_000_000_500))
    #expect(early < late && early.high >> 12 & 15 == 7 && early.low >> 62 == 2)
    #expect(early.high >> 16 == 1_700_000_000_000)
    #expect(
      UUID(early.description) == early && UUID(early.description.uppercased()) == early && UUID(bytes: early.bytes) == early)
    for text in ["", "0", "00000000-0000-0000-0000-00000000000g", "00000000000000000000000000000000", early.description + "0"] {
      #expect(UUID(text) == nil)
    }
  }

  @Test(
    "Timestamps print in RFC 3339 and saturate",
    arguments: [
      (Int64(0), "1970-01-01T00:00:00.000000Z"), (-1, "1969-12-31T23:59:59.999999Z"),
      (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
      (4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z"), (.max, "infinity"),
    ])
  func timestamps(microseconds: Int64, text: String) {
    #expect(Instant(microseconds: microseconds).description == text)
    #expect(Instant(microseconds: .max - 1).advanced(by: .seconds(1)) == .distantFuture)
    #expect(Instant(seconds: 1).advanced(by: .milliseconds(-1500)).microseconds == -500_000)
  }
}
