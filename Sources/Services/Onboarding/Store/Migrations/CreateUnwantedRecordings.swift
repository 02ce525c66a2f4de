extension OnboardingMigrations {
  /// Recordings that no answer refers to go after a while. What was kept before this migration has its while from now on.
  static let createUnwantedRecordings = #"""
    alter table onboarding.recording add column unreferred_since timestamptz;
    update onboarding.recording set unreferred_since = now() where not exists (
      select from onboarding.answer where answer.user_id = recording.user_id and answer.recording = recording.digest);
    create index recording_unreferred_since on onboarding.recording (unreferred_since) where unreferred_since is not null;
    comment on column onboarding.recording.unreferred_since is 'Since when no answer refers to it; null while one does.';

    create table onboarding.unwanted_recording (
      user_id uuid not null,
      digest bytea not null check (length(digest) = 32),
      since timestamptz not null,
      due_at timestamptz not null,
      primary key (user_id, digest)
    );
    create index unwanted_recording_due_at on onboarding.unwanted_recording (due_at);
    comment on table onboarding.unwanted_recording is 'Recordings that are to be deleted in the object store.';
    comment on column onboarding.unwanted_recording.due_at is 'When that is tried, or tried again.';

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_onboarding') then
        grant select, insert, update, delete on onboarding.unwanted_recording to parley_onboarding;
      end if;
    end $$;
    """#
}
