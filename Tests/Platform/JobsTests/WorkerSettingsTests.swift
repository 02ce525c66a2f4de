import Jobs
import ServiceKit
import Testing

@Suite("How workers work where nobody says otherwise")
struct WorkerSettingsTests {
  /// Within this a killed worker's job runs again.
  private static let promise = Duration.seconds(30)

  @Test(
    "JOB-M4: a killed worker's job runs again within 30 s: its lease and a poll are over by then, in the settings and without any"
  )
  func rescue() throws {
    let settings = try Settings(service: "demo", keys: JobKeys.all, environment: [:])
    let worker = WorkerSettings()
    #expect(settings[JobKeys.lease] == worker.lease && settings[JobKeys.poll] == worker.poll)
    // Two more polls, for a machine that has other work.
    #expect(worker.lease + worker.poll * 3 <= Self.promise)
  }

  @Test("JOB-M8: a job whose notification was lost is looked for within 1 s")
  func poll() { #expect(WorkerSettings().poll <= .seconds(1)) }
}
