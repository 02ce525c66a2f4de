import ArgumentParser

/// The program: Parley from the command line.
struct ParleyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "parley",
    abstract: "Talk to Parley's services, and to any other gRPC or Connect server, from the command line.",
    discussion: """
      Where the service is: --target, else PARLEY_TARGET, else what 'make run' has started in this checkout (.local/run.env).

      Exit codes: 0 done, 1 the service refused, 64 wrong usage, 69 the service cannot be reached.
      """,
    version: Version.text,
    subcommands: [
      CallCommand.self, ListCommand.self, DescribeCommand.self, TokenCommand.self, LoginCommand.self, LogoutCommand.self,
      WhoAmICommand.self, SessionsCommand.self, AccountCommand.self, OnboardingCommand.self, AdminCommand.self, AuditCommand.self,
      JobsCommand.self,
      IDTokenCommand.self, DemoCommand.self, VersionCommand.self,
    ])
}
