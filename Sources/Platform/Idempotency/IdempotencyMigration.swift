public import PostgreSQL

/// The table of answers that are given again, in the schema of whoever keeps them.
public enum IdempotencyMigration {
  /// What is declared of the table.
  public static let table = TableDeclaration(
    "idempotency", bound: "the requests with a key of the last day", removedBy: [.task("idempotency sweep"), .deletion],
    after: "24 hours, or what the method says",
    personal: [
      "user_id" as TableDeclaration.PersonalColumn, .hidden("key", "The client's own word for a request."),
      .hidden("answer", "What was answered of what is handed out."),
    ], others: "method request_hash claim lease_until status expires_at")

  /// Makes `<schema>.idempotency` for the serving role.
  ///
  /// - Parameters:
  ///   - schema: A plain name, of the program's own.
  ///   - role: The role that serves: `parley_notebook`.
  public static func create(schema: String, role: String) -> String {
    #"""
    create table \#(schema).idempotency (
      user_id uuid not null,
      method text collate "C" not null,
      key text collate "C" not null check (length(key) between 1 and 64),
      request_hash bytea not null check (length(request_hash) = 32),
      claim uuid not null,
      lease_until timestamptz not null,
      status smallint,
      answer bytea,
      expires_at timestamptz not null,
      primary key (user_id, method, key),
      check (status is not null or answer is null)
    );
    create index idempotency_expires_at on \#(schema).idempotency (expires_at);
    comment on table \#(schema).idempotency is 'What was answered to requests with a key of their own: a repeated one is answered the same.';
    comment on column \#(schema).idempotency.request_hash is 'SHA-256 of the request: another one of the same key is a mistake.';
    comment on column \#(schema).idempotency.claim is 'Who runs it, or has run it: fences what comes late.';
    comment on column \#(schema).idempotency.lease_until is 'Until when whoever runs it is believed to be alive.';
    comment on column \#(schema).idempotency.status is 'The code of the answer; null as long as there is none.';
    comment on column \#(schema).idempotency.answer is 'The response, or google.rpc.Status; null when it was too large to be kept.';

    do $$
    begin
      if exists (select from pg_roles where rolname = '\#(role)') then
        grant select, insert, update, delete on \#(schema).idempotency to \#(role);
      end if;
    end $$;
    """#
  }
}
