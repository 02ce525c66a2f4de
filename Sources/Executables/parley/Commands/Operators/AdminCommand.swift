import ArgumentParser

/// `parley admin`: what operators do.
struct AdminCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "admin", abstract: "Look after people's accounts, as an operator.",
    discussion: """
      Operators are known by a client certificate: --certificate and --key, else PARLEY_OPERATOR_CERTIFICATE and \
      PARLEY_OPERATOR_KEY, else what 'make run' has made in this checkout. What is changed stays in the account's activity, with the \
      certificate's identity and --reason.
      """,
    subcommands: [UserCommand.self, BrokerCommand.self, OperatedOnboardingCommand.self])
}

/// `parley admin user`: accounts and their sessions.
struct UserCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "user", abstract: "Find accounts, suspend and reinstate them, end their sessions.",
    discussion: "A user is named by the account's identifier, by google:<sub> or apple:<sub>, or by an e-mail address.",
    subcommands: [
      ListUsers.self, ShowUser.self, SuspendUser.self, ReinstateUser.self, ListUserSessions.self, SignOutUser.self,
    ])
}
