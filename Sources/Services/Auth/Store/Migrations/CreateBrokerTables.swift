extension AuthMigrations {
  static let createBrokerTables = #"""
    -- Token buckets, shared by all copies of the service. Ordinary rows: they survive a restart and a crash.
    -- Room on each page, so that an update finds its place beside the old row and touches no index.
    create table auth.rate_limit (
      key text collate "C" primary key,
      tokens double precision not null,
      touched_at timestamptz not null,
      asked integer not null,
      granted integer not null
    ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
    comment on table auth.rate_limit is 'Token buckets by client address and by user.';
    comment on column auth.rate_limit.key is 'ip:<address> or user:<salted hash of the subject>.';
    comment on column auth.rate_limit.tokens is 'What was left at touched_at.';
    comment on column auth.rate_limit.touched_at is 'The last request, granted or refused.';
    comment on column auth.rate_limit.asked is 'How many tokens the last statement asked for.';
    comment on column auth.rate_limit.granted is 'How many of those it got.';

    -- Append only: the serving role may neither change nor remove a row.
    create table auth.token_issuance (
      subject_hash text collate "C" not null,
      id uuid not null,
      issued_at timestamptz not null,
      audience text not null,
      capability text not null,
      scope text not null,
      expires_at timestamptz,
      client_address text not null,
      request_id text not null,
      outcome text not null check (outcome in ('issued', 'denied', 'failed')),
      reason text not null,
      primary key (subject_hash, id)
    );
    create index token_issuance_issued_at on auth.token_issuance using brin (issued_at);
    comment on table auth.token_issuance is 'Who got which cloud token until when, or was denied it. Never the token.';
    comment on column auth.token_issuance.subject_hash is 'Salted hash (HMAC-SHA256, 16 bytes in hexadecimal) of the account.';
    comment on column auth.token_issuance.audience is 'The client id of the app that the caller came from.';
    comment on column auth.token_issuance.reason is 'Why it was denied or failed; empty when it was issued.';

    -- One row: what subjects are hashed with, the same for all copies. Two random UUIDs have 244 unpredictable bits.
    create table auth.subject_salt (
      is_only boolean primary key default true check (is_only),
      salt bytea not null check (length(salt) = 32)
    );
    insert into auth.subject_salt (salt)
    values (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_auth') then
        grant select, insert, update, delete on auth.rate_limit to parley_auth;
        revoke all on auth.token_issuance, auth.subject_salt from parley_auth;
        grant select, insert on auth.token_issuance to parley_auth;
        grant select on auth.subject_salt to parley_auth;
      end if;
    end $$;
    """#
}
