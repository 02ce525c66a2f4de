internal import ArgumentParser
internal import Glibc

/// The executable of a service: `@main struct ParleyAuth: ServiceCommand { static let service = AuthService.self }`.
///
/// It has `serve`, `migrate`, `health`, `config check` and `version`, and ends with the exit codes of ``ExitStatus``.
public protocol ServiceCommand {
  /// The service's type.
  associatedtype Served: Service
  /// The service.
  static var service: Served.Type { get }
}

extension ServiceCommand {
  /// Runs what the command line asks for, and ends the process.
  @concurrent
  public static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      var command = try RootCommand<Served>.parseAsRoot(arguments)
      if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
    } catch {
      // The probe's exit codes are its own: 1 is a wrong command line.
      if arguments.first == "health", RootCommand<Served>.exitCode(for: error) == .validationFailure {
        Output.error(RootCommand<Served>.fullMessage(for: error) + "\n")
        exit(HealthCommand<Served>.badArguments)
      }
      RootCommand<Served>.exit(withError: error)
    }
  }
}

/// `parley-<service>`.
struct RootCommand<S: Service>: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: S.program,
      abstract: "The \(S.name) service of Parley.",
      discussion: """
        Settings come from flags (--set key=value, or --key value), from the environment (\(Settings.prefix(S.name))<KEY>, or \
        \(Settings.prefix(S.name))<KEY>_FILE with the path of a file that holds the value), and from defaults, in this order. \
        `\(S.program) config check` lists them all.

        Exit codes: 0 done or drained, 64 wrong command line, 69 a dependency is not there, 70 a defect, 75 try again, \
        78 wrong settings.
        """,
      version: ServiceVersion.number,
      subcommands: [
        ServeCommand<S>.self, MigrateCommand<S>.self, HealthCommand<S>.self, ConfigCommand<S>.self, VersionCommand<S>.self,
      ])
  }
}

/// Where commands print.
enum Output {
  static func write(_ bytes: some Sequence<UInt8>, to descriptor: Int32 = 1) {
    let bytes = Array(bytes)
    var start = 0
    while start < bytes.count {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + start, bytes.count - start) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return }
      start += count
    }
  }

  static func print(_ text: String) { write(text.utf8) }
  static func error(_ text: String) { write(text.utf8, to: 2) }
}

extension ServiceFailure {
  /// Says what happened on standard error and ends the command with the exit code.
  func exit() -> ExitCode {
    Output.error(message + "\n")
    return ExitCode(status.rawValue)
  }
}
