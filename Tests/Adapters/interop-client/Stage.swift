import EventLoop
import HTTP2
import JudgeAPI
import MessagesCore
import RPC
import RPCClient

/// What the cases call with.
final class Stage: Sendable {
  /// The channel of all cases that do not ask for new ones.
  let channel: ClientChannel
  let soak: SoakOptions
  private let make: @Sendable () -> ClientChannel

  init(target: ChannelTarget, tls: TLSContext?, group: EventLoopGroup, soak: SoakOptions) {
    self.soak = soak
    make = { ClientChannel(to: target, on: group, configuration: .init(tls: tls)) }
    channel = make()
  }

  /// One more channel, with connections of its own.
  func newChannel() -> ClientChannel { make() }

  /// A unary call that must succeed.
  func unaryCall(
    _ request: GRPCTesting.SimpleRequest, _ options: CallOptions = .init()
  ) async throws(RPCError) -> ClientResponse<GRPCTesting.SimpleResponse> {
    try await channel.unary(GRPCTesting.TestService.Methods.unaryCall, request, options)
  }
}

/// Why a case failed.
struct CaseFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Fails the case unless `condition` holds.
func expect(_ condition: Bool, _ complaint: @autoclosure () -> String) throws(CaseFailure) {
  if !condition { throw CaseFailure(complaint()) }
}

/// Fails the case unless `body` fails with one of `codes`.
@discardableResult
func expectError(_ codes: StatusCode..., during body: () async throws -> Void) async throws -> RPCError {
  do {
    try await body()
  } catch let error as RPCError {
    try expect(codes.contains(error.code), "\(error) where \(codes.map(\.name).joined(separator: " or ")) was due")
    return error
  }
  throw CaseFailure("the call succeeded where \(codes.map(\.name).joined(separator: " or ")) was due")
}

extension GRPCTesting.Payload {
  /// A body of so many bytes of zero.
  static func zeros(_ count: Int) -> GRPCTesting.Payload { .init(body: Bytes(repeatElement(0, count: count))) }

  /// Fails the case unless the body is of so many bytes of zero.
  func expectZeros(_ count: Int32) throws(CaseFailure) {
    try expect(body.count == Int(count) && body.allSatisfy { $0 == 0 }, "a body of \(body.count) bytes, not \(count) of zero")
  }
}
