extension OnboardingMigrations {
  static let createWork = #"""
    create table onboarding.work (
      user_id uuid primary key,
      job_id uuid not null,
      run_lease bigint not null
    );
    comment on table onboarding.work is 'Whose work goes on: the run of a job that has it, as long as that run has its lease.';

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_onboarding') then
        grant select, insert, update, delete on onboarding.work to parley_onboarding;
      end if;
    end $$;
    """#
}
