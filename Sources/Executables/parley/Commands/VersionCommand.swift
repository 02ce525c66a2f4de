import ArgumentParser

/// The version of the command line.
enum Version {
  static let text = "parley 0.1.0"
}

/// `parley version`
struct VersionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "version", abstract: "Say which version this is.")

  func run() { Console.write(line: Version.text) }
}
