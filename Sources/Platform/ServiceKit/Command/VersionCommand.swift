internal import ArgumentParser

/// `parley-<service> version`.
struct VersionCommand<S: Service>: ParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "version", abstract: "Prints the versions of the program and of the libraries it runs on.")
  }

  func run() throws {
    for (name, version) in ServiceVersion.lines(of: S.program) { Output.print("\(name) \(version)\n") }
  }
}
