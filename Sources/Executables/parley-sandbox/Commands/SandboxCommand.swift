import ArgumentParser

/// The program: a stand-in for the outside world.
struct SandboxCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "parley-sandbox",
    abstract: "Stands in for the outside world on a laptop and in tests.",
    discussion: """
      It answers as Google and Apple do, over real HTTPS and with real signatures, and it can be told to fail. What it hands out is \
      worth nothing outside of it. Never run it where strangers can reach it.
      """,
    subcommands: [ServeCommand.self, BucketCommand.self])
}
