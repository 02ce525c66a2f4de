import PostgreSQL

/// Where a text stands in the schema `auth`, whatever the column's type.
struct SchemaSearch: Sendable {
  let database: BrokerDatabase

  /// Makes the function that looks into every column of every table.
  init(_ database: BrokerDatabase) async throws {
    self.database = database
    try await database.script(
      #"""
      create or replace function public.places_of(words text[]) returns setof text language plpgsql as $$
      declare
        place record;
        word text;
        found bigint;
      begin
        for place in
          select c.table_name, c.column_name
          from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
          where c.table_schema = 'auth' and t.table_type = 'BASE TABLE' order by 1, 2
        loop
          foreach word in array words loop
            -- Bytes are written in hexadecimal digits: a text in them, and an identifier as its 16 bytes, are looked for like that, too.
            execute format(
              'select count(*) from auth.%I as r where strpos(lower(r.%I::text), lower($1)) > 0
                 or strpos(r.%I::text, encode(convert_to($1, ''UTF8''), ''hex'')) > 0
                 or (length($1) = 36 and strpos(r.%I::text, replace(lower($1), ''-'', '''')) > 0)',
              place.table_name, place.column_name, place.column_name, place.column_name)
              using word into found;
            if found > 0 then return next format('%s.%s: %s in %s rows', place.table_name, place.column_name, word, found); end if;
          end loop;
        end loop;
      end $$;
      """#)
  }

  /// `table.column: word in N rows`, for every column in which one of the words is.
  func places(of words: [String]) async throws -> [String] {
    try await database.values("select * from public.places_of(\(words))")
  }
}
