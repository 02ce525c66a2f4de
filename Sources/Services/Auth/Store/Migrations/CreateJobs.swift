internal import Jobs

extension AuthMigrations {
  static let createJobs = JobsMigration.create(schema: "auth", role: "parley_auth")
}
