public import PostgreSQL
public import Values

/// Looks at every table and column of a schema, whatever their names: what is declared of them, what they hold of a person, and what of that
/// is still there later.
public struct TableWalk: Sendable {
  /// What a person is known by in the database.
  public let person: UUID
  private let schema: String
  private let tables: [TableDeclaration]
  private let rows: @Sendable (Query) async throws -> [String]

  /// A walk over a schema.
  ///
  /// - Parameters:
  ///   - schema: The schema.
  ///   - tables: What is declared of it.
  ///   - person: Whose rows are looked for.
  ///   - run: Runs a statement as superuser, for its effect.
  ///   - rows: Does so for its only column.
  public init(
    _ schema: String, _ tables: [TableDeclaration], of person: UUID, run: (Query) async throws -> Void,
    rows: @escaping @Sendable (Query) async throws -> [String]
  ) async throws {
    self.schema = schema
    self.tables = tables
    self.person = person
    self.rows = rows
    for statement in Self.functions { try await run(statement) }
  }

  // MARK: The catalogue

  /// What is not as it is declared: tables and columns that are in no list, in two, or not there.
  public func undeclared() async throws -> [String] {
    let found = Set(try await rows("select tab || '.' || col from walk.columns(\(schema)) order by 1"))
    let lists = tables.flatMap { table in (table.personal.map(\.name) + table.others).map { "\(table.name).\($0)" } }
    let declared = Set(lists)
    return found.subtracting(declared).map { "\($0) is not declared" }.sorted()
      + declared.subtracting(found).map { "\($0) is declared and not there" }.sorted()
      + Dictionary(grouping: lists, by: \.self).filter { $0.value.count > 1 }.keys.map { "\($0) is declared twice" }.sorted()
  }

  // MARK: A person

  /// Sees to it that each table with columns of a person has a row of theirs, in which every such column has words of its own.
  ///
  /// - Parameters:
  ///   - given: Values for columns that take no others, by table and column, as PostgreSQL reads them.
  ///   - fixed: `table.column` of what must stay as it is in rows that are there already.
  ///   - skipped: Tables that get no row.
  public func fill(given: [String: [String: String]] = [:], fixed: Set<String> = [], skipping skipped: Set<String> = [])
    async throws
  {
    for table in tables where !table.personal.isEmpty && !skipped.contains(table.name) {
      let own = table.personal.map(\.name).filter { $0 != "user_id" && !fixed.contains("\(table.name).\($0)") }
      let values = given[table.name] ?? [:]
      _ = try await rows(
        "select walk.fill(\(schema), \(table.name), \(person), \(own), \(Array(values.keys)), \(Array(values.values)))::text")
    }
  }

  /// What each column of a person holds, by `table.column`.
  ///
  /// - Parameter conditions: Which rows are theirs, of tables without a `user_id`.
  public func held(where conditions: [String: String] = [:]) async throws -> [String: [String]] {
    var held: [String: [String]] = [:]
    for table in tables {
      for column in table.personal {
        let values = try await rows(
          "select word from walk.words(\(schema), \(table.name), \(column.name), \(person), \(conditions[table.name] ?? ""))")
        held["\(table.name).\(column.name)"] = Array(Set(values.filter { $0.utf8.count >= 8 })).sorted()
      }
    }
    return held
  }

  /// The columns that should be in an export and are not, or should not and are.
  public func missing(_ held: [String: [String]], in export: String) -> [String] {
    tables.flatMap { table in
      table.personal.flatMap { column -> [String] in
        let name = "\(table.name).\(column.name)"
        let values = held[name] ?? []
        if column.whyHidden == nil {
          return values.filter { !export.contains($0) }.map { "\(name) is not exported: \($0)" }
        }
        // What is also shown by a column that is no secret is none.
        let shown = Set(
          tables.flatMap { other in
            other.personal.filter { $0.whyHidden == nil }.flatMap { held["\(other.name).\($0.name)"] ?? [] }
          })
        return values.filter { !shown.contains($0) && export.contains($0) }.map { "\(name) is exported: \($0)" }
      }
    }
  }

  /// The columns that hold something of a person, declared to outlive the account or not.
  public func left(_ held: [String: [String]]) async throws -> [String] {
    let words = Array(Set(held.values.joined())) + [person.description]
    let kept = Set(
      tables.flatMap { table in table.personal.filter { $0.whyKept != nil }.map { "\(table.name).\($0.name)" } })
    return try await rows("select place || ' holds ' || word from walk.places(\(schema), \(words)) order by 1").filter { found in
      !kept.contains(String(found.prefix { $0 != " " }))
    }
  }

  private static let functions: [Query] = [
    "create schema if not exists walk",
    """
    create or replace function walk.columns(wanted text) returns table (tab text, col text, type text, is_generated boolean)
    language sql stable as $$
      select c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attgenerated <> '' or a.attidentity <> ''
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = wanted::regnamespace and c.relkind in ('r', 'p')
    $$
    """,
    """
    create or replace function walk.value(tab text, col text, type text) returns text language sql immutable as $$
      select case
        when type = 'uuid' then quote_literal(md5(tab || '.' || col)::uuid)
        when type = 'bytea' then quote_literal(sha256(convert_to(tab || '.' || col, 'UTF8')))
        when type = 'text[]' then format('array[%L]', 'mark-' || tab || '-' || col)
        when type = 'jsonb' then quote_literal(json_build_object('mark', 'mark-' || tab || '-' || col))
        when type = 'boolean' then 'false'
        when type like 'timestamp%' then quote_literal('2037-01-01 00:00:00+00')
        when type = 'date' then quote_literal('2037-01-01')
        when type in ('smallint', 'integer', 'bigint', 'double precision') then '1'
        else quote_literal('mark-' || tab || '-' || col)
      end || '::' || type
    $$
    """,
    """
    create or replace function walk.fill(
      wanted text, wanted_table text, person uuid, own text[], names text[], values_given text[]
    ) returns void language plpgsql as $$
    declare
      known jsonb := coalesce((select jsonb_object_agg(n, v) from unnest(names, values_given) as g(n, v)), '{}');
      is_theirs boolean := false;
      list text;
      texts text;
    begin
      if exists (select from walk.columns(wanted) c where c.tab = wanted_table and c.col = 'user_id') then
        execute format('select exists (select from %I.%I where user_id = $1)', wanted, wanted_table) into is_theirs using person;
      elsif exists (select from unnest(names) as n where n = '*') then
        is_theirs := true;
      end if;
      if is_theirs then
        select string_agg(format('%I = %s', c.col, coalesce(quote_literal(known ->> c.col) || '::' || c.type, walk.value(c.tab, c.col, c.type))), ', ')
        into list from walk.columns(wanted) c where c.tab = wanted_table and c.col = any(own) and not c.is_generated;
        if list is not null then
          execute format('update %I.%I set %s', wanted, wanted_table, list)
            || case when '*' = any(names) then ' where ' || (known ->> '*') else format(' where user_id = %L', person) end;
        end if;
        return;
      end if;
      select string_agg(format('%I', c.col), ', '),
        string_agg(
          case when known ? c.col then quote_literal(known ->> c.col) || '::' || c.type
            when c.col = 'user_id' then quote_literal(person) || '::uuid'
            else walk.value(c.tab, c.col, c.type) end, ', ')
      into list, texts from walk.columns(wanted) c where c.tab = wanted_table and not c.is_generated;
      execute format('insert into %I.%I (%s) values (%s)', wanted, wanted_table, list, texts);
    end $$
    """,
    """
    create or replace function walk.shown(col text, type text) returns text language sql immutable as $$
      select case type when 'bytea' then format('encode(%I, ''hex'')', col) when 'text[]' then format('unnest(%I)', col)
        when 'jsonb' then format('(select string_agg(v, '' '') from jsonb_each_text(%I) as e(k, v))', col) else format('%I::text', col) end
    $$
    """,
    """
    create or replace function walk.words(wanted text, wanted_table text, wanted_column text, person uuid, condition text)
    returns table (word text) language plpgsql as $$
    declare
      kind text := (select c.type from walk.columns(wanted) c where c.tab = wanted_table and c.col = wanted_column);
      which text := case
        when condition <> '' then condition
        when exists (select from walk.columns(wanted) c where c.tab = wanted_table and c.col = 'user_id') then format('user_id = %L', person)
        else 'false' end;
    begin
      return query execute format(
        'select w from (select %s as w from %I.%I where %s) as s where w is not null', walk.shown(wanted_column, kind), wanted, wanted_table, which);
    end $$
    """,
    """
    create or replace function walk.places(wanted text, words text[]) returns table (place text, word text)
    language plpgsql as $$
    declare
      c record;
    begin
      for c in select * from walk.columns(wanted) loop
        return query execute format(
          'select distinct %L::text, w from unnest($1) as w, %I.%I as r where %s', c.tab || '.' || c.col, wanted, c.tab,
          case c.type
            when 'bytea' then format(
              'position(w in encode(r.%1$I, ''hex'')) > 0 or position(w in encode(r.%1$I, ''escape'')) > 0', c.col)
            else format('position(w in r.%I::text) > 0', c.col)
          end) using words;
      end loop;
    end $$
    """,
  ]
}
