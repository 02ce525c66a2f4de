extension Database {
  /// Checks that all copies of the service together leave the server room: copies × (loops × (1 + pool) + 1) stays
  /// below `max_connections` − 10.
  ///
  /// To be called once the database is ready, before traffic is taken.
  ///
  /// - Throws: ``DatabaseError`` with `invalidConfiguration`, saying by how much it is too many.
  public func checkConnectionBudget() async throws(DatabaseError) {
    let limit: Int32? = try await reads.row("select current_setting('max_connections')::int4")
    let room = Int(limit ?? 0) - 10
    let wanted = configuration.connections(loops: parts.count)
    guard wanted < room else {
      throw DatabaseError(
        .invalidConfiguration,
        """
        \(configuration.copies) copies with \(parts.count) loops and pools of \(configuration.poolSize) may open \(wanted) \
        connections; the server has room for fewer than \(room)
        """)
    }
  }
}
