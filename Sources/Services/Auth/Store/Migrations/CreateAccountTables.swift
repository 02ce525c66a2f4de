extension AuthMigrations {
  static let createAccountTables = #"""
    create table auth.account (
      user_id uuid primary key,
      app text collate "C" not null,
      provider text collate "C" not null check (provider in ('google', 'apple')),
      name text not null,
      email text,
      email_is_verified boolean not null,
      email_is_private boolean not null,
      created_at timestamptz not null,
      suspended_at timestamptz
    );
    comment on table auth.account is 'People, one row for each app that they have signed in to.';
    comment on column auth.account.email is 'What the provider told last. Never a key: accounts are not linked by it.';
    comment on column auth.account.email_is_private is 'Whether it is a relay''s.';
    comment on column auth.account.suspended_at is 'Since when an operator lets nobody sign in.';

    create table auth.identity_lookup (
      app text collate "C" not null,
      provider text collate "C" not null,
      subject text collate "C" not null,
      user_id uuid not null,
      created_at timestamptz not null,
      primary key (app, provider, subject)
    );
    create index identity_lookup_user on auth.identity_lookup (user_id);
    comment on table auth.identity_lookup is 'Whose account a provider''s subject is, app by app.';

    create table auth.nonce (
      hash bytea primary key check (length(hash) = 32),
      app text collate "C" not null,
      provider text collate "C" not null,
      expires_at timestamptz not null
    );
    create index nonce_expires_at on auth.nonce (expires_at);
    comment on table auth.nonce is 'Nonces that were issued and have not served. A sign-in removes its own.';
    comment on column auth.nonce.hash is 'SHA-256 of the text.';

    create table auth.exchanged_token (
      hash bytea primary key check (length(hash) = 32),
      expires_at timestamptz not null
    );
    create index exchanged_token_expires_at on auth.exchanged_token (expires_at);
    comment on table auth.exchanged_token is 'Providers'' tokens that were exchanged: each serves once, and until it has run out that is remembered.';
    comment on column auth.exchanged_token.hash is 'SHA-256 of the token.';

    create table auth.session (
      user_id uuid not null,
      id uuid not null,
      app text collate "C" not null,
      provider text collate "C" not null,
      device_name text not null,
      platform text not null,
      app_version text not null,
      created_at timestamptz not null,
      authenticated_at timestamptz not null,
      last_used_at timestamptz not null,
      last_address text not null,
      expires_at timestamptz not null,
      ends_at timestamptz not null,
      generation bigint not null check (generation between 0 and 4294967295),
      token_hash bytea not null check (length(token_hash) = 32),
      spent_hash bytea check (length(spent_hash) = 32),
      spent_attempt bytea check (length(spent_attempt) = 32),
      spent_at timestamptz,
      ended_at timestamptz,
      end_cause text collate "C",
      primary key (user_id, id),
      check ((spent_hash is null) = (spent_at is null)),
      check ((ended_at is null) = (end_cause is null))
    ) with (fillfactor = 80);
    create index session_over on auth.session (coalesce(ended_at, expires_at));
    comment on table auth.session is 'Devices that stay signed in.';
    comment on column auth.session.authenticated_at is 'When the person last showed a provider''s token.';
    comment on column auth.session.expires_at is 'When it ends if it is not refreshed before.';
    comment on column auth.session.ends_at is 'When it ends in any case.';
    comment on column auth.session.generation is 'How many refresh tokens were issued before the current one.';
    comment on column auth.session.token_hash is 'SHA-256 of the secret of the current refresh token.';
    comment on column auth.session.spent_hash is 'The same of the token that it was exchanged for.';
    comment on column auth.session.spent_attempt is 'SHA-256 of the attempt that exchanged it; null when the client named none.';
    comment on column auth.session.spent_at is 'When the current token was handed out last.';

    create table auth.session_lookup (
      session_id uuid primary key,
      user_id uuid not null,
      app text collate "C" not null
    );
    comment on table auth.session_lookup is 'Whose session it is: a refresh token names the session alone.';

    create table auth.revocation (
      cursor bigint generated always as identity primary key,
      session_id uuid not null,
      cause text collate "C" not null,
      matters_until timestamptz not null
    );
    create index revocation_matters_until on auth.revocation (matters_until);
    comment on table auth.revocation is 'Sessions that were ended, for the services that verify access tokens by themselves.';
    comment on column auth.revocation.cursor is 'In the order of commit: rows are added under an advisory lock that is held to the end of the transaction.';
    comment on column auth.revocation.matters_until is 'Until when access tokens of the session may be around.';

    -- Append only: the serving role may neither change nor remove a row.
    create table auth.activity (
      user_id uuid not null,
      id uuid not null,
      at timestamptz not null,
      app text collate "C" not null,
      action text collate "C" not null,
      outcome text collate "C" not null check (outcome in ('done', 'refused')),
      reason text collate "C" not null,
      session_id uuid,
      client_address text not null,
      request_id text not null,
      primary key (user_id, id)
    );
    create index activity_at on auth.activity using brin (at);
    comment on table auth.activity is 'What was done with accounts. Never a token.';
    comment on column auth.activity.reason is 'Why, as a reason code; empty when nothing was out of the ordinary.';

    -- What refresh tokens are made with: few rows, the one in use, the next one, and those whose tokens may still be around. The service
    -- makes them, since only it can seal them: in a copy of the database they are worth nothing.
    create table auth.refresh_pepper (
      generation integer primary key check (generation > 0),
      created_at timestamptz not null,
      activates_at timestamptz not null,
      sealed_pepper bytea not null,
      sealed_with text collate "C" not null
    );
    comment on table auth.refresh_pepper is 'What refresh tokens are sealed with, and follow from.';
    comment on column auth.refresh_pepper.generation is 'Counts them; of several instances that make the same one, one wins.';
    comment on column auth.refresh_pepper.activates_at is 'From when on it is used, until the next generation is.';
    comment on column auth.refresh_pepper.sealed_pepper is '32 bytes, AES-256-GCM under the key-encryption key.';
    comment on column auth.refresh_pepper.sealed_with is 'The name of that key-encryption key.';

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_auth') then
        grant select, insert, update, delete on auth.account, auth.identity_lookup, auth.nonce, auth.exchanged_token, auth.session,
          auth.session_lookup, auth.revocation to parley_auth;
        revoke all on auth.activity, auth.refresh_pepper from parley_auth;
        grant select, insert on auth.activity to parley_auth;
        grant select, insert, delete on auth.refresh_pepper to parley_auth;
        grant update (sealed_pepper, sealed_with) on auth.refresh_pepper to parley_auth;
      end if;
    end $$;
    """#
}
