internal import Jobs

extension AuthMigrations {
  static let createJobs = JobsMigration.create(schema: "auth", role: "parley_auth")
  static let holdJobs = JobsMigration.hold(schema: "auth", role: "parley_auth")
}
