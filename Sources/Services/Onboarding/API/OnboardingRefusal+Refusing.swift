/// Turns refusals into what is sent.
func refusing<Value>(_ body: () throws -> Value) throws -> Value {
  do { return try body() } catch let refusal as OnboardingRefusal { throw refusal.rpcError }
}

/// Turns refusals into what is sent.
func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
  do { return try await body() } catch let refusal as OnboardingRefusal { throw refusal.rpcError }
}
