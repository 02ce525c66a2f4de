import PostgreSQL
import TestSupport
import Testing
import Values

@Suite("Migrations")
struct MigrationTests {
  private static let first = Migration(
    1, "create_thing", "create table thing (id int); insert into thing values (1)")
  private static let second = Migration(
    2, "add_name", "alter table thing add column name text; comment on table thing is 'x;y'")

  @Test("A fresh schema gets every step once; a repeat does nothing; the status says so")
  func fresh() async throws {
    try await TestDatabase.with { test in
      try await test.script("create schema app")
      let one = try Migrator(schema: "app", migrations: [Self.first])
      let two = try Migrator(schema: "app", migrations: [Self.first, Self.second])
      #expect(
        try await two.status(test.configuration, group: test.group, log: test.log).map {
          $0.appliedAt == nil
        } == [true, true])
      #expect(
        try await one.migrate(test.configuration, group: test.group, log: test.log) == [Self.first])
      #expect(
        try await two.status(test.configuration, group: test.group, log: test.log).map {
          $0.appliedAt == nil
        } == [false, true])
      #expect(
        try await two.migrate(test.configuration, group: test.group, log: test.log) == [Self.second]
      )
      #expect(try await two.migrate(test.configuration, group: test.group, log: test.log) == [])
      try await test.open { database in
        let rows: [(Int, String?)] = try await database.reads.rows("select id, name from app.thing")
        #expect(rows.count == 1 && rows[0] == (1, nil))
      }
      let ahead = await databaseError {
        try await one.migrate(test.configuration, group: test.group, log: test.log)
      }
      #expect(ahead?.code == .migrationRefused)
    }
  }

  @Test("A step whose contents changed after it was applied is refused, and nothing runs")
  func checksum() async throws {
    try await TestDatabase.with { test in
      try await test.script("create schema app")
      try await Migrator(schema: "app", migrations: [Self.first]).migrate(
        test.configuration, group: test.group, log: test.log)
      let forged = Migration(1, "create_thing", Self.first.sql + " ")
      let migrator = try Migrator(schema: "app", migrations: [forged, Self.second])
      let error = await databaseError {
        try await migrator.migrate(test.configuration, group: test.group, log: test.log)
      }
      #expect(error?.code == .migrationRefused)
      let status = await databaseError {
        _ = try await migrator.status(test.configuration, group: test.group, log: test.log)
      }
      #expect(status?.code == .migrationRefused)
    }
  }

  @Test("A step that fails is rolled back whole; those before it stay")
  func failing() async throws {
    try await TestDatabase.with { test in
      try await test.script("create schema app")
      let broken = Migration(2, "broken", "create table half (id int); select 1 / 0")
      let migrator = try Migrator(schema: "app", migrations: [Self.first, broken])
      let error = await databaseError {
        try await migrator.migrate(test.configuration, group: test.group, log: test.log)
      }
      #expect(
        error?.sqlState?.rawValue == "22012"
          && error?.message.hasPrefix("migration 2 (broken)") == true)
      try await test.open { database in
        let row: (Bool, Int)? = try await database.reads.row(
          "select to_regclass('app.half') is null, (select count(*) from app.schema_migration)")
        #expect(row! == (true, 1))
      }
    }
  }

  @Test("Migrators that race apply each step once")
  func race() async throws {
    try await TestDatabase.with { test in
      try await test.script("create schema app")
      let migrator = try Migrator(schema: "app", migrations: [Self.first, Self.second])
      let applied = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<4 {
          group.addTask {
            try await migrator.migrate(test.configuration, group: test.group, log: test.log).count
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(applied == 2)
      let rows: Int? = try await test.open {
        try await $0.reads.value("select count(*) from app.thing")
      }
      #expect(rows == 1)
    }
  }

  @Test(
    "Numbers with gaps, and names that are not plain, are refused",
    arguments: ["App", "a b", "", "a;b", "1a"])
  func misuse(schema: String) {
    #expect(throws: DatabaseError.self) { try Migrator(schema: schema, migrations: []) }
    #expect(throws: DatabaseError.self) { try Migrator(schema: "app", migrations: [Self.second]) }
    #expect(throws: DatabaseError.self) { try Bootstrap(service: schema) }
  }

  @Test(
    "Bootstraps of one service in several databases at once, as when copies are deployed side by side, all succeed"
  )
  func concurrentBootstraps() async throws {
    try await TestDatabase.with(loops: 2) { test in
      let databases = (0..<6).map { "\(test.configuration.database)_\($0)" }
      let service = "s" + UUID.v7().description.filter { $0 != "-" }
      let bootstrap = try Bootstrap(
        service: service, ownerPassword: "own", servingPassword: "serve")
      for database in databases { try await test.script("create database \(database)") }
      // Roles belong to the whole server, advisory locks to one database: the others are met in the catalogue itself.
      try await withThrowingTaskGroup { tasks in
        for database in databases {
          tasks.addTask {
            var configuration = test.configuration
            configuration.database = database
            try await bootstrap.run(configuration, group: test.group, log: test.log)
          }
        }
        try await tasks.waitForAll()
      }
      for database in databases { try await test.script("drop database \(database) with (force)") }
      try await test.script("drop role \(bootstrap.ownerRole), \(bootstrap.servingRole)")
    }
  }

  @Test("The serving role reads and writes rows, appends to an audit table, and can do no more")
  func roles() async throws {
    try await TestDatabase.with { test in
      let service = "s" + UUID.v7().description.filter { $0 != "-" }
      let bootstrap = try Bootstrap(
        service: service, ownerPassword: "own'er\\", servingPassword: "serve")
      try await bootstrap.run(test.configuration, group: test.group, log: test.log)
      try await bootstrap.run(test.configuration, group: test.group, log: test.log)
      var owner = test.configuration
      owner.user = bootstrap.ownerRole
      owner.password = "own'er\\"
      let migration = Migration(
        1, "create",
        """
        create table \(service).note (id int8 generated always as identity, body text);
        create table \(service).audit (id int, what text);
        revoke update, delete, truncate on \(service).audit from \(bootstrap.servingRole);
        """)
      try await Migrator(schema: service, migrations: [migration]).migrate(
        owner, group: test.group, log: test.log)
      var serving = test.configuration
      serving.user = bootstrap.servingRole
      serving.password = "serve"
      try await Session.with(serving, group: test.group, log: test.log) { session in
        try await session.script(
          "insert into \(service).note (body) values ('x'); update \(service).note set body = 'y'; delete from \(service).note"
        )
        try await session.script(
          "insert into \(service).audit values (1, 'x'); select from \(service).audit")
        for refused in [
          "update \(service).audit set what = 'y'", "delete from \(service).audit",
          "truncate \(service).audit",
          "create table \(service).mine (id int)", "create table public.mine (id int)",
          "drop table \(service).note",
          "insert into \(service).schema_migration values (2, 'x', 'y')",
          "delete from \(service).schema_migration",
        ] {
          let error = await databaseError { try await session.script(refused) }
          #expect(error?.sqlState == .insufficientPrivilege, "\(refused)")
        }
        try await session.script("select from \(service).schema_migration")
      }
      try await test.script(
        """
        drop schema \(service) cascade;
        drop owned by \(bootstrap.ownerRole), \(bootstrap.servingRole);
        drop role \(bootstrap.ownerRole), \(bootstrap.servingRole);
        """
      )
    }
  }

  private static let index = Migration(
    2, "index_name", "create index concurrently if not exists thing_id on app.thing (id);",
    .concurrent)

  @Test(
    "A step that waits for a lock lets others pass and is tried again, and nothing waits behind it for longer (PF-04)"
  )
  func lockTimeout() async throws {
    try await TestDatabase.with { test in
      try await test.script("create schema app")
      var migrator = try Migrator(schema: "app", migrations: [Self.first])
      try await migrator.migrate(test.configuration, group: test.group, log: test.log)
      migrator = try Migrator(schema: "app", migrations: [Self.first, Self.second])
      migrator.lockTimeout = .milliseconds(200)
      migrator.longestPause = .milliseconds(100)
      migrator.attempts = 10_000
      let log = CapturedLog()
      try await Session.with(test.configuration, group: test.group, log: test.log) { session in
        // Somebody reads in a transaction that does not end: the step's lock is not to be had.
        try await session.script("begin")
        #expect(try await session.value("select count(*) from app.thing") == 1)
        let step = Task { [migrator] in
          try await migrator.migrate(test.configuration, group: test.group, log: log.logger)
        }
        try await log.wait(for: "a migration waits for a lock")
        // Whoever comes after it is served, though the step wants the table for itself.
        try await test.open { database in
          let count: Int? = try await database.value("select count(*) from app.thing", deadline: soon(.seconds(30)))
          #expect(count == 1)
        }
        try await session.script("commit")
        #expect(try await step.value == [Self.second])
      }
    }
  }

  @Test("A step that never gets its lock gives up in the end, and nothing of it stays (PF-04)")
  func lockRefused() async throws {
    try await TestDatabase.with { test in
      try await test.script("create schema app")
      try await Migrator(schema: "app", migrations: [Self.first]).migrate(
        test.configuration, group: test.group, log: test.log)
      var migrator = try Migrator(schema: "app", migrations: [Self.first, Self.second])
      migrator.lockTimeout = .milliseconds(20)
      migrator.longestPause = .milliseconds(50)
      migrator.attempts = 3
      let log = CapturedLog()
      try await Session.with(test.configuration, group: test.group, log: test.log) { session in
        try await session.script("begin; lock table app.thing")
        let error = await databaseError {
          try await migrator.migrate(test.configuration, group: test.group, log: log.logger)
        }
        #expect(
          error?.sqlState == .lockNotAvailable
            && error?.message.hasPrefix("migration 2 (add_name)") == true)
        #expect(log.containing("a migration waits for a lock").count == 2)
        try await session.script("rollback")
      }
      #expect(
        try await migrator.status(test.configuration, group: test.group, log: test.log).map {
          $0.appliedAt == nil
        } == [false, true])
    }
  }

  @Test("An index is built on a table that is in use while its writers go on (PF-04)")
  func concurrent() async throws {
    try await TestDatabase.with { test in
      try await test.script("create schema app")
      try await Migrator(schema: "app", migrations: [Self.first]).migrate(
        test.configuration, group: test.group, log: test.log)
      let migrator = try Migrator(schema: "app", migrations: [Self.first, Self.index])
      try await Session.with(test.configuration, group: test.group, log: test.log) { session in
        // A writer that was there before: the build waits for its end, and for nothing else.
        try await session.script("begin; insert into app.thing values (2)")
        let step = Task {
          try await migrator.migrate(test.configuration, group: test.group, log: test.log)
        }
        try await test.open { database in
          try await eventually("the build waits") {
            try await database.value(
              """
              select count(*) from pg_stat_activity where datname = current_database() and query like 'create index concurrently%'
              and wait_event_type = 'Lock'
              """) == 1
          }
          #expect(
            try await database.execute(
              "insert into app.thing values (3)", deadline: soon(.seconds(30))) == 1)
        }
        try await session.script("commit")
        #expect(try await step.value == [Self.index])
      }
      let state = try await migrator.status(test.configuration, group: test.group, log: test.log)
      #expect(state.allSatisfy { $0.appliedAt != nil })
    }
  }

  @Test("An index that a build has left invalid is dropped and built anew (PF-04)")
  func invalid() async throws {
    try await TestDatabase.with { test in
      try await test.script("create schema app")
      try await Migrator(schema: "app", migrations: [Self.first]).migrate(
        test.configuration, group: test.group, log: test.log)
      try await test.script("insert into app.thing values (1)")
      let unique = Migration(
        2, "one_each", "create unique index concurrently if not exists thing_one on app.thing (id)",
        .concurrent)
      let migrator = try Migrator(schema: "app", migrations: [Self.first, unique])
      let error = await databaseError {
        try await migrator.migrate(test.configuration, group: test.group, log: test.log)
      }
      #expect(
        error?.code == .alreadyExists && error?.message.hasPrefix("migration 2 (one_each)") == true)
      try await test.open { database in
        #expect(try await database.value("select to_regclass('app.thing_one') is null") == true)
        // As a process leaves it that ends amid the build.
        _ = await databaseError {
          try await Session.with(test.configuration, group: test.group, log: test.log) {
            try await $0.script(unique.sql)
          }
        }
        #expect(
          try await database.value(
            "select indisvalid from pg_index where indexrelid = 'app.thing_one'::regclass") == false
        )
        try await database.execute(
          "delete from app.thing where ctid = (select ctid from app.thing limit 1)")
        #expect(
          try await migrator.migrate(test.configuration, group: test.group, log: test.log) == [
            unique
          ])
        #expect(
          try await database.value(
            "select indisvalid from pg_index where indexrelid = 'app.thing_one'::regclass") == true)
      }
    }
  }

  @Test(
    "A step outside a transaction is one statement that may be run again (PF-04)",
    arguments: [
      "create index concurrently a on app.thing (id)",
      "create index if not exists a on app.thing (id)",
      "create index concurrently if not exists a on app.thing (id); select 1",
    ])
  func refused(sql: String) {
    let error = #expect(throws: DatabaseError.self) {
      try Migrator(schema: "app", migrations: [Migration(1, "wrong", sql, .concurrent)])
    }
    #expect(error?.code == .misuse)
  }
}
