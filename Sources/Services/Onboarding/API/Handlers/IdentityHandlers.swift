internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import RPC
internal import ServiceKit
internal import Values

/// `parley.onboarding.v1.IdentityService`.
struct IdentityHandlers: IdentityService.Handlers {
  let identities: IdentityStore
  let submissions: SubmissionStore
  let steps: StepCatalogues
  let now: @Sendable () -> Instant

  func getIdentity(_ request: GetIdentityRequest, _ call: CallContext) async throws -> GetIdentityResponse {
    let user = try call.caller.userID
    return try await refusing {
      guard let known = try await identities.identity(of: user) else { throw OnboardingRefusal.noIdentity }
      let facts = try await identities.facts(of: user)
      return .init(
        identity: .init(
          name: known.name, summary: known.summary,
          fields: IdentityCatalogue.known(facts, steps).map { IdentityField($0) }, failure: known.failure,
          updatedAt: .init(known.updatedAt)))
    }
  }

  func correctIdentity(_ request: CorrectIdentityRequest, _ call: CallContext) async throws -> CorrectIdentityResponse {
    let user = try call.caller.userID
    return try await refusing {
      guard IdentityCatalogue.all(steps).contains(request.name) else { throw OnboardingRefusal.noField }
      typealias Limits = SubmissionLimits
      if let value = request.value, !value.isStorable(characters: 1...Limits.fieldValue, bytes: Limits.fieldValueBytes) {
        throw OnboardingRefusal.invalid(
          field: "value",
          "1 to \(Limits.fieldValue) characters of \(Limits.fieldValueBytes) bytes together, without U+0000, or absent")
      }
      try await submissions.entering(user) { transaction in
        guard try await identities.identity(of: user, on: transaction) != nil else { throw OnboardingRefusal.noIdentity }
        try await identities.correct(request.name, request.value, of: user, at: now(), in: transaction)
      }
      return .init(field: try await identities.facts(of: user)[request.name].map { IdentityField($0) })
    }
  }
}
