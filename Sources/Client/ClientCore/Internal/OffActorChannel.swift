import MessagesCore
import RPC

/// A channel for actors: each unary call is a task of its own, which no actor's thread runs.
///
/// An actor's work is done by whatever thread has it at that moment, an event loop's too, and leaving the actor need not leave the
/// thread. A channel that finds itself on the thread of its own loop takes it that the call goes on there, which holds for tasks of
/// the loop and not for one that a loop's thread runs by chance.
struct OffActorChannel: Channel {
  let base: any Channel

  func unary<Request: Message, Response: Message>(
    _ method: MethodDescriptor<Request, Response>, _ request: Request, _ options: CallOptions
  ) async throws(RPCError) -> ClientResponse<Response> {
    let call = Task.detached { [base] () async -> Result<ClientResponse<Response>, RPCError> in
      do throws(RPCError) { return .success(try await base.unary(method, request, options)) } catch { return .failure(error) }
    }
    let outcome = await withTaskCancellationHandler {
      await call.value
    } onCancel: {
      call.cancel()
    }
    return try outcome.get()
  }

  func stream<Request: Message, Response: Message, Result: Sendable>(
    _ method: MethodDescriptor<Request, Response>, _ options: CallOptions,
    _ body: (ClientStream<Request, Response>) async throws -> Result
  ) async throws -> Result {
    try await base.stream(method, options, body)
  }
}
