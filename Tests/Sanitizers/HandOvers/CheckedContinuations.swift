// The concurrency library's checked continuations call its own swift_continuation_await, past the one of continuation.c. These take
// their place and call ours.

@_silgen_name("$ss23withCheckedContinuation9isolation8function_xScA_pSgYi_SSyScCyxs5NeverOGXEtYalF")
func continuation<Value>(
  isolation: isolated (any Actor)?, function: String, _ body: (CheckedContinuation<Value, Never>) -> Void
) async -> sending Value {
  await withUnsafeContinuation { body(CheckedContinuation(continuation: $0, function: function)) }
}

@_silgen_name("$ss31withCheckedThrowingContinuation9isolation8function_xScA_pSgYi_SSyScCyxs5Error_pGXEtYaKlF")
func throwingContinuation<Value>(
  isolation: isolated (any Actor)?, function: String, _ body: (CheckedContinuation<Value, any Error>) -> Void
) async throws -> sending Value {
  try await withUnsafeThrowingContinuation { body(CheckedContinuation(continuation: $0, function: function)) }
}
