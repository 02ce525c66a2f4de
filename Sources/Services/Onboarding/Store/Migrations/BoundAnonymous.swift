extension OnboardingMigrations {
  /// Records of people without an account are bounded in bytes, all together: they are counted in sixteen parts by their keys, so that those
  /// who write seldom wait for each other.
  static let boundAnonymous = #"""
    alter table onboarding.anonymous_record_lookup
      add column part integer not null generated always as (get_byte(key_hash, 0) & 15) stored,
      add column size integer not null generated always as (octet_length(record::text) + 256) stored;
    create index anonymous_record_oldest on onboarding.anonymous_record_lookup (part, expires_at, key_hash);
    comment on column onboarding.anonymous_record_lookup.size is 'Its bytes, with what the row and its indexes take beside it.';

    create table onboarding.anonymous_size (
      part integer primary key check (part between 0 and 15),
      bytes bigint not null
    );
    comment on table onboarding.anonymous_size is 'How large the records of people without an account are, by part. There are always sixteen rows.';
    insert into onboarding.anonymous_size (part, bytes)
      select part, coalesce((select sum(size) from onboarding.anonymous_record_lookup as kept where kept.part = parts.part), 0)
      from generate_series(0, 15) as parts(part);

    -- At the end of the transaction: who takes a record away holds nobody up before that.
    create function onboarding.count_anonymous() returns trigger language plpgsql as $$
    begin
      update onboarding.anonymous_size set bytes = bytes + coalesce(new.size, 0) - coalesce(old.size, 0)
      where part = coalesce(new.part, old.part);
      return null;
    end $$;
    create constraint trigger count_anonymous after insert or update or delete on onboarding.anonymous_record_lookup
      deferrable initially deferred for each row execute function onboarding.count_anonymous();

    -- Keeps a record, and removes the oldest others of its part that do not fit beside it. Says how many those were.
    create function onboarding.keep_anonymous(hash bytea, content text, expires timestamptz, most bigint) returns integer
    language plpgsql volatile
    as $$
    declare
      mine constant integer := get_byte(hash, 0) & 15;
      before integer;
      excess bigint;
      removed integer := 0;
    begin
      -- The row comes before the sum, as for whoever takes one away.
      select size into before from onboarding.anonymous_record_lookup where key_hash = hash for update;
      select bytes into excess from onboarding.anonymous_size where part = mine for update;
      insert into onboarding.anonymous_record_lookup (key_hash, record, expires_at) values (hash, content::jsonb, expires)
        on conflict (key_hash) do update set record = excluded.record, expires_at = excluded.expires_at;
      select excess + size - coalesce(before, 0) - most into excess
        from onboarding.anonymous_record_lookup where key_hash = hash;
      if excess > 0 then
        delete from onboarding.anonymous_record_lookup where key_hash in (
          select oldest.key_hash from (
            select found.key_hash, sum(found.size) over (order by found.expires_at, found.key_hash) - found.size as freed
            from (
              select key_hash, size, expires_at from onboarding.anonymous_record_lookup
              where part = mine and key_hash <> hash
              order by expires_at, key_hash limit 1000 for update skip locked) as found) as oldest
          where oldest.freed < excess);
        get diagnostics removed = row_count;
      end if;
      return removed;
    end $$;

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_onboarding') then
        grant select, update on onboarding.anonymous_size to parley_onboarding;
      end if;
    end $$;
    """#
}
