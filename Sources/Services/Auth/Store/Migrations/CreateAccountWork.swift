extension AuthMigrations {
  static let createAccountWork = #"""
    alter table auth.account add column deleting_at timestamptz;
    comment on column auth.account.deleting_at is 'Since when it is being deleted: nobody signs in to it any more.';

    create table auth.account_work (
      user_id uuid not null,
      id uuid not null,
      app text collate "C" not null,
      kind text collate "C" not null check (kind in ('export', 'deletion')),
      idempotency_key text collate "C" not null,
      created_at timestamptz not null,
      done_at timestamptz,
      failure text not null default '',
      expires_at timestamptz,
      byte_count bigint not null default 0,
      primary key (user_id, id)
    );
    create unique index account_work_key on auth.account_work (user_id, kind, idempotency_key);
    create unique index account_work_deletion on auth.account_work (user_id) where kind = 'deletion';
    create unique index account_work_export on auth.account_work (user_id) where kind = 'export' and done_at is null;
    create index account_work_running on auth.account_work (created_at) where done_at is null;
    create index account_work_over on auth.account_work (coalesce(expires_at, done_at)) where done_at is not null;
    comment on table auth.account_work is 'Exports and deletions of accounts, over all services.';
    comment on column auth.account_work.done_at is 'Null while it runs.';
    comment on column auth.account_work.failure is 'Why an export was given up, in a word.';
    comment on column auth.account_work.expires_at is 'Until when an export can be downloaded.';

    create table auth.account_work_step (
      user_id uuid not null,
      work_id uuid not null,
      name text collate "C" not null,
      place integer not null,
      attempts integer not null default 0,
      done_at timestamptz,
      failure text not null default '',
      primary key (user_id, work_id, name)
    );
    comment on table auth.account_work_step is 'The parts of services and providers. One that is done is never done again.';
    comment on column auth.account_work_step.attempts is 'Which attempt may write: one that was overtaken changes nothing.';
    comment on column auth.account_work_step.failure is 'Why the last attempt failed, in a word.';

    create table auth.account_work_count (
      user_id uuid not null,
      work_id uuid not null,
      step text collate "C" not null,
      kind text collate "C" not null,
      deleted bigint not null,
      held bigint not null,
      why_held text not null,
      primary key (user_id, work_id, step, kind)
    );
    comment on table auth.account_work_count is 'What each service has deleted and kept, or handed out.';

    create table auth.deletion_receipt_lookup (
      hash bytea primary key check (length(hash) = 32),
      user_id uuid not null,
      work_id uuid not null
    );
    create index deletion_receipt_lookup_user on auth.deletion_receipt_lookup (user_id);
    comment on table auth.deletion_receipt_lookup is 'SHA-256 of the receipts of deletions: who has one is told how far it has come.';

    create table auth.account_export_chunk (
      user_id uuid not null,
      work_id uuid not null,
      step text collate "C" not null,
      attempt integer not null,
      sequence integer not null,
      document text collate "C" not null,
      content_type text not null,
      document_offset bigint not null,
      data bytea not null,
      sha256 bytea check (length(sha256) = 32),
      start bigint,
      rank integer,
      primary key (user_id, work_id, step, attempt, sequence)
    );
    create index account_export_chunk_rank on auth.account_export_chunk (user_id, work_id, rank);
    comment on table auth.account_export_chunk is 'Exports, in pieces, until they are downloaded or run out.';
    comment on column auth.account_export_chunk.sha256 is 'Of the whole document; with its last piece.';
    comment on column auth.account_export_chunk.start is 'Where it stands among all bytes; known once the export is whole.';
    comment on column auth.account_export_chunk.rank is 'Which piece it is of all, from 0; likewise.';

    -- The audit is append only for the serving role. What the law wants out of it when an account is deleted goes through these
    -- functions of the owner and nothing else: they take away what tells who it was and from where, never that something was done.
    --
    -- They look for the deletion themselves, at what the serving role cannot feign without a trace: an account is marked by
    -- begin_deletion alone, for good, and a line of the activity that nobody can remove says so. Whoever has the role can have accounts
    -- deleted, since that is what it is for; nobody is made forgotten who stays.
    create function auth.begin_deletion(leaver uuid, begun timestamptz) returns void
    language sql security definer set search_path = pg_catalog, pg_temp as $$
      update auth.account set deleting_at = begun where user_id = leaver and deleting_at is null;
    $$;

    create function auth.must_be_leaving(leaver uuid) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    begin
      if not exists (select from auth.account where user_id = leaver and deleting_at is not null)
        or not exists (select from auth.activity where user_id = leaver and action = 'deletion_requested')
        or not exists (
          select from auth.account_work as work where work.user_id = leaver and work.kind = 'deletion' and work.done_at is null
            and not exists (
              select from auth.account_work_step as step
              where step.user_id = leaver and step.work_id = work.id and step.done_at is null and step.name <> 'service.auth'))
      then
        raise exception 'the account is not being deleted' using errcode = 'insufficient_privilege';
      end if;
    end $$;

    create function auth.forget_activity(leaver uuid) returns bigint
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    declare touched bigint;
    begin
      perform auth.must_be_leaving(leaver);
      update auth.activity set client_address = '', request_id = '', note = '' where user_id = leaver;
      get diagnostics touched = row_count;
      return touched;
    end $$;

    -- HMAC-SHA256 (RFC 2104).
    create function auth.hmac_sha256(message bytea, key bytea) returns bytea
    language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
    declare
      inner_pad bytea;
      outer_pad bytea;
    begin
      if length(key) > 64 then key := sha256(key); end if;
      key := key || decode(repeat('00', 64 - length(key)), 'hex');
      inner_pad := key;
      outer_pad := key;
      for place in 0..63 loop
        inner_pad := set_byte(inner_pad, place, get_byte(key, place) # 54);
        outer_pad := set_byte(outer_pad, place, get_byte(key, place) # 92);
      end loop;
      return sha256(outer_pad || sha256(inner_pad || message));
    end $$;

    -- Whose lines they are follows from the account's own identities, not from what the caller says. The salt is the table's unless the
    -- operator has given another.
    create function auth.forget_issuance(leaver uuid, audiences text[], given_salt bytea) returns bigint
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    declare touched bigint;
    begin
      perform auth.must_be_leaving(leaver);
      update auth.token_issuance set client_address = '', request_id = ''
      where audience = any (audiences) and subject_hash in (
        select substr(encode(auth.hmac_sha256(convert_to(known.subject, 'UTF8'), coalesce(given_salt, stored.salt)), 'hex'), 1, 32)
        from auth.identity_lookup as known cross join auth.subject_salt as stored
        where known.user_id = leaver and known.provider = 'google');
      get diagnostics touched = row_count;
      return touched;
    end $$;

    -- Of an event that is about the leaver alone, the id and the type stay. One that is about others as well (purchases that were
    -- handed on) loses the leaver's ids and what was posted.
    create function auth.forget_webhook_events(leaver uuid) returns bigint
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    declare
      touched bigint;
      ids text[] := leaver::text || coalesce(
        (select array_agg(customer_id collate "default") from auth.customer_lookup where user_id = leaver), '{}');
    begin
      perform auth.must_be_leaving(leaver);
      with event as (
        select event_id, customers, transferred_from, transferred_to,
          case type
            when 'TRANSFER' then not transferred_from || transferred_to <@ ids
            -- The account's that the first of its ids with an account has.
            else coalesce((
              select id <> all (ids) from unnest(customers) with ordinality as named (id, place)
              where id = any (ids) or exists (select from auth.customer_lookup where customer_id = id)
                or exists (
                  select from auth.account where user_id =
                    case when id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then id::uuid end)
              order by place limit 1), false)
          end as is_shared
        from auth.webhook_event where all_customers && ids
      ), rest as (
        select event_id, is_shared,
          array(select id from unnest(customers) with ordinality as t (id, place)
            where is_shared and id <> all (ids) order by place) as customers,
          array(select id from unnest(transferred_from) with ordinality as t (id, place)
            where is_shared and id <> all (ids) order by place) as transferred_from,
          array(select id from unnest(transferred_to) with ordinality as t (id, place)
            where is_shared and id <> all (ids) order by place) as transferred_to
        from event
      )
      update auth.webhook_event as event set
        customers = rest.customers, transferred_from = rest.transferred_from, transferred_to = rest.transferred_to, body = '',
        is_sandbox = is_sandbox and is_shared, occurred_at = case when is_shared then occurred_at end,
        product_id = case when is_shared then product_id else '' end,
        entitlements = case when is_shared then entitlements else '{}' end,
        expires_at = case when is_shared then expires_at end, grace_until = case when is_shared then grace_until end,
        period = case when is_shared then period else '' end, reason = case when is_shared then reason else '' end
      from rest where rest.event_id = event.event_id;
      get diagnostics touched = row_count;
      return touched;
    end $$;

    revoke all on function auth.begin_deletion(uuid, timestamptz), auth.must_be_leaving(uuid), auth.hmac_sha256(bytea, bytea),
      auth.forget_activity(uuid), auth.forget_issuance(uuid, text[], bytea), auth.forget_webhook_events(uuid) from public;

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_auth') then
        grant select, insert, update, delete on auth.account_work, auth.account_work_step, auth.account_work_count,
          auth.deletion_receipt_lookup, auth.account_export_chunk to parley_auth;
        grant execute on function auth.begin_deletion(uuid, timestamptz), auth.forget_activity(uuid),
          auth.forget_issuance(uuid, text[], bytea), auth.forget_webhook_events(uuid) to parley_auth;
        -- All of an account but the mark of its deletion, which no row is made with and none loses.
        revoke insert, update on auth.account from parley_auth;
        grant insert (user_id, app, provider, name, email, email_is_verified, email_is_private, created_at),
          update (
            name, email, email_is_verified, email_is_private, email_is_forwarded, email_told_at, suspended_at, suspended_by,
            suspension_reason)
          on auth.account to parley_auth;
      end if;
    end $$;
    """#
}
