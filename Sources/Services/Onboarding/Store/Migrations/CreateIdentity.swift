extension OnboardingMigrations {
  static let createIdentity = #"""
    create table onboarding.identity (
      user_id uuid primary key,
      name text not null,
      summary text not null,
      failure text collate "C" not null,
      extracted_at timestamptz,
      updated_at timestamptz not null
    );
    comment on table onboarding.identity is 'What is known of people, in a line; the fields are beside it.';
    comment on column onboarding.identity.failure is 'Why the newest extraction did not succeed, in a word; empty when it did.';

    create table onboarding.identity_field (
      user_id uuid not null,
      name text collate "C" not null,
      value text not null check (value <> ''),
      source text collate "C" not null check (source in ('answer', 'transcript', 'model', 'correction')),
      step integer not null,
      quote text not null,
      model text not null,
      updated_at timestamptz not null,
      primary key (user_id, name)
    );
    comment on table onboarding.identity_field is 'Fields that were understood, each with the words and the model that it rests on.';

    create table onboarding.identity_correction (
      user_id uuid not null,
      name text collate "C" not null,
      value text not null check (value <> ''),
      updated_at timestamptz not null,
      primary key (user_id, name)
    );
    comment on table onboarding.identity_correction is 'What people say themselves. It goes before what was understood, now and later.';

    create table onboarding.voice (
      user_id uuid primary key,
      state text collate "C" not null check (state in ('none', 'cloning', 'ready', 'failed', 'deleting')),
      voice_id text,
      failure text collate "C" not null default '',
      statement text not null default '',
      consented_at timestamptz,
      withdrawn_at timestamptz,
      recloned_at timestamptz,
      updated_at timestamptz not null,
      check (voice_id is not null or state <> 'ready')
    );
    comment on table onboarding.voice is 'Voices that were made of recordings, and the consent to that.';
    comment on column onboarding.voice.recloned_at is 'When the person last had it made anew.';

    create table onboarding.unwanted_voice (
      user_id uuid not null,
      voice_id text collate "C" not null,
      since timestamptz not null,
      primary key (user_id, voice_id)
    );
    comment on table onboarding.unwanted_voice is 'Voices that are to be deleted at the provider.';

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_onboarding') then
        grant select, insert, update, delete on onboarding.identity, onboarding.identity_field, onboarding.identity_correction,
          onboarding.voice, onboarding.unwanted_voice to parley_onboarding;
      end if;
    end $$;
    """#
}
