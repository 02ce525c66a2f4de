internal import Idempotency
internal import Limits
internal import ParleyProvider
public import PostgreSQL
public import RPC
public import ServiceKit
internal import TestAPI
internal import Values

/// A service as others are written: what its methods' options ask for stands on two tables and one line of `build`.
public struct Notebook: Service {
  /// The name of the service.
  public static let name = "notebook"
  /// Its settings.
  public static let configuration: [any ConfigurationKeyDeclaration] = AuthServiceKeys.all
  /// What it serves.
  public static let services = [NotebookService.descriptor]
  /// Its schema.
  public static let migrations = [
    Migration(1, "create_notes", createNotes),
    Migration(2, "create_rate_limits", RateLimitMigration.create(schema: "notebook", role: "parley_notebook")),
    Migration(3, "create_idempotency", IdempotencyMigration.create(schema: "notebook", role: "parley_notebook")),
  ]

  /// Puts it together.
  public static func build(_ context: ServiceContext) async throws -> ServiceParts {
    let sessions = try ParleySessions(context)
    let notes = NotebookHandlers(notes: NoteStore(context.database))
    return ServiceParts(joining: [
      .policies(schema: "notebook", context),
      ServiceParts(
        services: [NotebookService.routes(notes)], guards: sessions.map { .sessions($0.authenticator) } ?? [:],
        jobs: sessions?.jobs ?? []),
    ])
  }

  private static let createNotes = #"""
    create table notebook.note (
      user_id uuid not null,
      id uuid not null,
      text text not null,
      primary key (user_id, id)
    );
    grant select, insert, delete on notebook.note to parley_notebook;
    """#
}

/// `parley.testing.v1.NotebookService`.
struct NotebookHandlers: NotebookService.Handlers {
  let notes: NoteStore

  func createNote(_ request: CreateNoteRequest, _ call: CallContext) async throws -> CreateNoteResponse {
    let caller = try call.caller
    guard !request.text.isEmpty else {
      throw RPCError(.invalidArgument, "a note has a text", details: [.errorInfo(reason: "EMPTY", domain: "test", metadata: [:])])
    }
    let answer = CreateNoteResponse(note: .init(id: UUID.v7().description, text: request.text))
    // The note and the answer that tells of it are there together, or neither is.
    try await notes.add(answer.note, of: caller.userID) { transaction in
      try await call.keyedRequest?.keep(answer, in: transaction)
    }
    return answer
  }

  func importNotes(_ request: ImportNotesRequest, _ call: CallContext) async throws -> ImportNotesResponse {
    let caller = try call.caller
    for text in request.texts {
      try await notes.add(.init(id: UUID.v7().description, text: text), of: caller.userID) { _ in }
    }
    return ImportNotesResponse(count: Int32(try await notes.count(of: caller.userID)))
  }

  func getNote(_ request: GetNoteRequest, _ call: CallContext) async throws -> GetNoteResponse {
    let caller = try call.caller
    guard let id = UUID(request.noteID), let note = try await notes.note(id, of: caller.userID) else {
      throw RPCError(.notFound, "no such note")
    }
    return GetNoteResponse(note: note)
  }

  func listNotes(_ request: ListNotesRequest, _ call: CallContext) async throws -> ListNotesResponse {
    let caller = try call.caller
    guard let last = request.pageToken.isEmpty ? UUID(high: .max, low: .max) : UUID(request.pageToken) else {
      throw RPCError(.invalidArgument, "no page token of ours")
    }
    let size = request.pageSize == 0 ? 50 : Int(request.pageSize)
    let found = try await notes.notes(of: caller.userID, before: last, limit: size + 1)
    return ListNotesResponse(notes: Array(found.prefix(size)), nextPageToken: found.count > size ? found[size - 1].id : "")
  }

  func readNotes(
    _ request: ReadNotesRequest, _ responses: ResponseWriter<ReadNotesResponse>, _ call: CallContext
  ) async throws {
    let caller = try call.caller
    for note in try await notes.notes(of: caller.userID, before: UUID(high: .max, low: .max), limit: 1000) {
      try await responses.write(ReadNotesResponse(note: note))
    }
  }

  func countNotes(_ request: CountNotesRequest, _ call: CallContext) async throws -> CountNotesResponse {
    guard let user = UUID(request.userID) else { throw RPCError(.invalidArgument, "user_id is a UUID") }
    return CountNotesResponse(count: Int32(try await notes.count(of: user)))
  }

  func removeNotes(_ request: RemoveNotesRequest, _ call: CallContext) async throws -> RemoveNotesResponse {
    guard let user = UUID(request.userID) else { throw RPCError(.invalidArgument, "user_id is a UUID") }
    return RemoveNotesResponse(count: Int32(try await notes.remove(of: user)))
  }

  func knock(_ request: KnockRequest, _ call: CallContext) async throws -> KnockResponse { .init() }
}

/// Notes in the schema `notebook`.
struct NoteStore: Sendable {
  let database: Database

  init(_ database: Database) { self.database = database }

  func add(_ note: Note?, of user: UUID, with more: (Transaction) async throws -> Void) async throws {
    try await database.transaction { transaction in
      try await transaction.execute(
        "insert into notebook.note (user_id, id, text) values (\(user), \(note.flatMap { UUID($0.id) }), \(note?.text))")
      try await more(transaction)
    }
  }

  func note(_ id: UUID, of user: UUID) async throws(DatabaseError) -> Note? {
    let text: String? = try await database.reads.value(
      "select text from notebook.note where user_id = \(user) and id = \(id)")
    return text.map { Note(id: id.description, text: $0) }
  }

  func notes(of user: UUID, before last: UUID, limit: Int) async throws(DatabaseError) -> [Note] {
    let rows: [(UUID, String)] = try await database.reads.rows(
      "select id, text from notebook.note where user_id = \(user) and id < \(last) order by id desc limit \(Int64(limit))")
    return rows.map { Note(id: $0.0.description, text: $0.1) }
  }

  func count(of user: UUID) async throws(DatabaseError) -> Int {
    try await database.value("select count(*) from notebook.note where user_id = \(user)") ?? 0
  }

  func remove(of user: UUID) async throws(DatabaseError) -> Int {
    try await database.execute("delete from notebook.note where user_id = \(user)")
  }
}
