extension OnboardingMigrations {
  /// What is done outside this service once for a person, whatever is submitted later.
  static let createEffects = #"""
    create table onboarding.effect (
      user_id uuid not null,
      name text collate "C" not null,
      at timestamptz not null,
      primary key (user_id, name)
    );
    comment on table onboarding.effect is 'What was done for people that is done once for ever. It goes with the account.';
    -- Until now each first submission had one.
    insert into onboarding.effect (user_id, name, at)
      select user_id, 'calls.demo', min(done_at) from onboarding.submission where stage = 'done' group by user_id;

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_onboarding') then
        grant select, insert, update, delete on onboarding.effect to parley_onboarding;
      end if;
    end $$;
    """#
}
