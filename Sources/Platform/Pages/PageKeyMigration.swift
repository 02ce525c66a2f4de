public import PostgreSQL

/// The table with the key of page tokens, in the schema of whoever has lists.
public enum PageKeyMigration {
  /// Makes `<schema>.page_key` for the serving role.
  ///
  /// - Parameters:
  ///   - schema: A plain name, of the program's own.
  ///   - role: The role that serves: `parley_notebook`.
  public static func create(schema: String, role: String) -> String {
    #"""
    -- One row, the same for all copies. Two random UUIDs have 244 unpredictable bits.
    create table \#(schema).page_key (
      is_only boolean primary key default true check (is_only),
      key bytea not null check (length(key) = 32)
    );
    insert into \#(schema).page_key (key)
    values (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));
    comment on table \#(schema).page_key is 'What page tokens are sealed with. Removing the row ends all lists that are being read.';

    do $$
    begin
      if exists (select from pg_roles where rolname = '\#(role)') then
        revoke all on \#(schema).page_key from \#(role);
        grant select on \#(schema).page_key to \#(role);
      end if;
    end $$;
    """#
  }

  /// What is declared of the table.
  public static let table = TableDeclaration(
    "page_key", bound: "one row", removedBy: [.nobody], after: "never", others: "is_only key")
}
