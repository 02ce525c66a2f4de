extension OnboardingMigrations {
  static let createExpectedVoices = #"""
    create table onboarding.expected_voice (
      user_id uuid not null,
      key text collate "C" not null,
      since timestamptz not null,
      until timestamptz not null,
      unwanted_since timestamptz,
      primary key (user_id, key)
    );
    create index expected_voice_unwanted_since on onboarding.expected_voice (unwanted_since) where unwanted_since is not null;
    comment on table onboarding.expected_voice is 'Voices that may come to be: the provider was asked for one, and nobody knows what became of it.';
    comment on column onboarding.expected_voice.key is 'The label by which it is found at the provider.';
    comment on column onboarding.expected_voice.until is 'Until when it may come to be.';
    comment on column onboarding.expected_voice.unwanted_since is 'Since when nobody wants it: it is looked for, and deleted. Null while somebody does.';

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_onboarding') then
        grant select, insert, update, delete on onboarding.expected_voice to parley_onboarding;
      end if;
    end $$;
    """#
}
