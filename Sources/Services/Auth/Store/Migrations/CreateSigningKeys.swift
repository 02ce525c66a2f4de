extension AuthMigrations {
  static let createSigningKeys = #"""
    -- The keys that access tokens are signed with. Few rows: the active key, the next one, and those retired of late.
    create table auth.signing_key (
      generation integer primary key check (generation > 0),
      key_id text collate "C" not null unique,
      created_at timestamptz not null,
      activates_at timestamptz not null,
      public_key text not null,
      sealed_private_key bytea not null,
      sealed_with text collate "C" not null
    );
    comment on table auth.signing_key is 'Keys of access tokens. What each is for follows from the times of all.';
    comment on column auth.signing_key.generation is 'Counts the keys; of several instances that make the same one, one wins.';
    comment on column auth.signing_key.key_id is 'The kid of its tokens.';
    comment on column auth.signing_key.activates_at is 'From when on it signs, until the next generation does.';
    comment on column auth.signing_key.public_key is 'The public half, a JSON Web Key.';
    comment on column auth.signing_key.sealed_private_key is 'The private half, AES-256-GCM under the key-encryption key.';
    comment on column auth.signing_key.sealed_with is 'The name of that key-encryption key.';

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_auth') then
        revoke all on auth.signing_key from parley_auth;
        grant select, insert, delete on auth.signing_key to parley_auth;
        grant update (sealed_private_key, sealed_with) on auth.signing_key to parley_auth;
      end if;
    end $$;
    """#
}
