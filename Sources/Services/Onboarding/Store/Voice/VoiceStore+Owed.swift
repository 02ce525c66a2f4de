public import PostgreSQL

extension VoiceStore {
  /// Since when the voice that has been unwanted for the longest is to be deleted at the provider; nil when there is none.
  public func oldestUnwanted() async throws(DatabaseError) -> Timestamp? {
    try await database.row(
      "select since from onboarding.unwanted_voice order by since limit 1", as: Timestamp.self)
  }
}
