internal import ArgumentParser

/// `parley-<service> config`.
struct ConfigCommand<S: Service>: ParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "config", abstract: "Looks at the settings.", subcommands: [ConfigCheckCommand<S>.self])
  }
}

/// `parley-<service> config check`.
struct ConfigCheckCommand<S: Service>: ParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "check", abstract: "Prints the effective settings and what is wrong with them.",
      discussion: "Values of secrets are hidden. Exit code 0 when the service would start with them, else 78.")
  }

  @Flag(help: "Prints JSON.") var json = false
  @OptionGroup var flags: SettingFlags

  func run() throws {
    let report = try Self.report(flags.values(), ProcessEnvironment.all)
    if json { Output.write(report.json) } else { Output.print(report.text) }
    if !report.isValid { throw ExitCode(ExitStatus.configuration.rawValue) }
  }

  /// The report on what these sources say.
  static func report(_ flags: [String: String], _ environment: [String: String]) throws -> ConfigurationReport {
    let open = AccessPolicy.publicMethods(of: S.services)
    do throws(ConfigurationError) {
      let settings = try Settings(service: S.name, keys: S.keys, flags: flags, environment: environment)
      return ConfigurationReport(
        program: S.program, settings: settings, problems: [], findings: S.findings(settings), publicMethods: open)
    } catch {
      return ConfigurationReport(program: S.program, settings: nil, problems: error.problems, findings: [], publicMethods: open)
    }
  }
}
