import AuthAPI
import ParleyAPI
import PostgreSQL
import RPC
import Testing
import Values

@Suite("Job administration") struct JobAdminTests {
  @Test("JOB-M6: the service's jobs are an operator's to see, and nobody else's")
  func access() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database) { (broker: BrokerFixture) async throws -> Void in
        let operators = JobAdminService.Client(broker.operators)
        #expect(try await operators.listJobs(.init()).jobs.isEmpty)
        #expect(try await operators.pauseQueue(.init(queue: "default")).changed)
        #expect(try await operators.listQueues(.init()).queues.map(\.paused) == [true])
        #expect(try await operators.resumeQueue(.init(queue: "default")).changed)
        for (channel, code) in [(broker.services, StatusCode.permissionDenied), (broker.channel, .unauthenticated)] {
          let refusal = await #expect(throws: RPCError.self) { try await JobAdminService.Client(channel).listJobs(.init()) }
          #expect(refusal?.code == code)
        }
        for (request, reason) in [
          (GetJobRequest(id: "nonsense"), "INVALID_REQUEST"), (GetJobRequest(id: "\(UUID.v7())"), "JOB_NOT_FOUND"),
        ] {
          let refusal = await #expect(throws: RPCError.self) { try await operators.getJob(request) }
          #expect(refusal?.reason == reason)
        }
        for request in [
          ListJobsRequest(pageSize: 501), ListJobsRequest(pageSize: -1), ListJobsRequest(pageToken: "x"),
          ListJobsRequest(state: .unrecognized(9)), ListJobsRequest(userID: "ana"),
        ] {
          let refusal = await #expect(throws: RPCError.self) { try await operators.listJobs(request) }
          #expect(refusal?.reason == "INVALID_REQUEST")
        }
        let purge = await #expect(throws: RPCError.self) { try await operators.purgeJobs(.init()) }
        #expect(purge?.reason == "INVALID_REQUEST")
        let pause = await #expect(throws: RPCError.self) { try await operators.pauseQueue(.init(queue: "")) }
        #expect(pause?.reason == "INVALID_REQUEST")
      }
    }
  }
}
