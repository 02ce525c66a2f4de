extension AuthMigrations {
  static let createProviderGrants = #"""
    -- What providers have granted for people: a token that is revoked when the account is deleted. Apple demands it (TN3194).
    create table auth.provider_grant (
      user_id uuid not null,
      provider text collate "C" not null check (provider in ('google', 'apple')),
      client_id text collate "C" not null,
      sealed_token bytea,
      sealed_with text collate "C",
      granted_at timestamptz,
      sealed_code bytea,
      code_expires_at timestamptz,
      code_due_at timestamptz,
      ended_at timestamptz,
      ending text collate "C",
      failed_at timestamptz,
      failure text,
      primary key (user_id, provider, client_id),
      check ((sealed_token is null) = (sealed_with is null)),
      check ((sealed_code is null) = (code_expires_at is null) and (sealed_code is null) = (code_due_at is null)),
      check ((ended_at is null) = (ending is null)),
      check ((failed_at is null) = (failure is null))
    );
    create index provider_grant_code_due_at on auth.provider_grant (code_due_at) where code_due_at is not null;
    create index provider_grant_sealed_with on auth.provider_grant (sealed_with, user_id, provider, client_id)
      where sealed_with is not null;
    comment on table auth.provider_grant is 'What providers have granted for people, by the client that it was granted to.';
    comment on column auth.provider_grant.sealed_token is 'The refresh token, AES-256-GCM under the key-encryption key, bound to the row''s key.';
    comment on column auth.provider_grant.sealed_with is 'The name of that key-encryption key.';
    comment on column auth.provider_grant.sealed_code is 'The subject and the authorization code of a sign-in, sealed alike, until a token was got for it.';
    comment on column auth.provider_grant.code_due_at is 'The code is exchanged not before this. Whoever takes it puts it off.';
    comment on column auth.provider_grant.ending is 'How the last grant ended: what the provider answered, or told by itself.';
    comment on column auth.provider_grant.failure is 'Why the last attempt to get or to revoke a token failed.';

    -- Notifications serve once, for ever. Nothing in them names a person. Append only.
    create table auth.provider_notice (
      provider text collate "C" not null check (provider in ('google', 'apple')),
      id text collate "C" not null,
      word text not null,
      occurred_at timestamptz not null,
      received_at timestamptz not null,
      primary key (provider, id)
    );
    comment on table auth.provider_notice is 'What providers told by themselves and what was acted on: whoever adds the row acts, and nobody again.';
    comment on column auth.provider_notice.word is 'The provider''s word for what has happened.';

    alter table auth.account add column email_is_forwarded boolean, add column email_told_at timestamptz;
    comment on column auth.account.email_is_forwarded is 'Whether mail to the relay''s address arrives, as the provider told last; null: it told nothing.';
    comment on column auth.account.email_told_at is 'When it did, by the provider''s clock: what it told before that changes nothing.';

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_auth') then
        revoke all on auth.provider_notice from parley_auth;
        grant select, insert on auth.provider_notice to parley_auth;
        grant select, insert, update, delete on auth.provider_grant to parley_auth;
      end if;
    end $$;
    """#
}
