extension Database {
  /// Checks that all copies of the service together leave the server room: copies × (loops × (1 + pool) + 1) stays
  /// below `max_connections` − 10.
  ///
  /// To be called once the database is ready, before traffic is taken.
  ///
  /// - Throws: ``DatabaseError`` with `invalidConfiguration`, saying by how much it is too many.
  public func checkConnectionBudget() async throws(DatabaseError) {
    let limit: Int32? = try await reads.row("select current_setting('max_connections')::int4")
    let room = Int(limit ?? 0) - DatabaseConfiguration.keptConnections
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

extension DatabaseConfiguration {
  /// Connections that are left to operators, backups and other programs.
  static let keptConnections = 10

  /// How many loops each copy can have so that all copies together leave the server room, as
  /// ``Database/checkConnectionBudget()`` asks for; 0 where not even one fits.
  public func mostLoops(maximumConnections: Int) -> Int {
    let share = (maximumConnections - Self.keptConnections - 1) / copies
    return max(0, (share - 1) / (1 + poolSize))
  }
}
