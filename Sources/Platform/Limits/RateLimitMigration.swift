public import PostgreSQL

/// The table of token buckets, in the schema of whoever has limits.
public enum RateLimitMigration {
  /// What is declared of the table.
  ///
  /// - Parameters:
  ///   - task: Who removes idle buckets.
  ///   - after: After how long.
  public static func table(removedBy task: String, after: String) -> TableDeclaration {
    TableDeclaration(
      "rate_limit", bound: "those who have called of late: a full bucket needs no row", removedBy: [.task(task), .deletion],
      after: after, personal: [.hidden("key", "A counter of calls, by account, session or address.")],
      others: "tokens touched_at asked granted")
  }

  /// Makes `<schema>.rate_limit` for the serving role.
  ///
  /// - Parameters:
  ///   - schema: A plain name, of the program's own.
  ///   - role: The role that serves: `parley_notebook`.
  public static func create(schema: String, role: String) -> String {
    #"""
    -- Token buckets, shared by all copies of the service. Ordinary rows: they survive a restart and a crash.
    -- Room on each page, so that an update finds its place beside the old row and touches no index.
    create table \#(schema).rate_limit (
      key text collate "C" primary key,
      tokens double precision not null,
      touched_at timestamptz not null,
      asked integer not null,
      granted integer not null
    ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
    comment on table \#(schema).rate_limit is 'Token buckets.';
    comment on column \#(schema).rate_limit.key is 'The limit''s name and whose bucket it is.';
    comment on column \#(schema).rate_limit.tokens is 'What was left at touched_at.';
    comment on column \#(schema).rate_limit.touched_at is 'The last request, granted or refused.';
    comment on column \#(schema).rate_limit.asked is 'How many tokens the last statement asked for.';
    comment on column \#(schema).rate_limit.granted is 'How many of those it got.';

    do $$
    begin
      if exists (select from pg_roles where rolname = '\#(role)') then
        grant select, insert, update, delete on \#(schema).rate_limit to \#(role);
      end if;
    end $$;
    """#
  }
}
