internal import ArgumentParser

/// Settings on the command line.
struct SettingFlags: ParsableArguments {
  @Option(
    name: .customLong("set"), parsing: .singleValue,
    help: ArgumentHelp("Sets a key for this run, as in --set log.level=debug. May be repeated.", valueName: "key=value"))
  var assignments: [String] = []

  @Flag(
    help: ArgumentHelp(
      "Warns of variables that belong to no setting instead of refusing to start, as --environment-lenient true: for a return to an older version."
    ))
  var lenientEnvironment = false

  @Argument(
    parsing: .allUnrecognized,
    help: ArgumentHelp("The same as --key value or --key=value, as in --log-level debug.", valueName: "--key value"))
  var others: [String] = []

  /// The settings by the names they were given under.
  func values() throws -> [String: String] {
    var values: [String: String] = [:]
    for assignment in assignments {
      guard let equals = assignment.firstIndex(of: "="), equals != assignment.startIndex else {
        throw ValidationError("--set takes key=value, not '\(assignment)'")
      }
      values[String(assignment[..<equals])] = String(assignment[assignment.index(after: equals)...])
    }
    if lenientEnvironment { values[StandardKeys.lenientEnvironment.name] = "true" }
    var rest = others[...]
    while let flag = rest.popFirst() {
      guard flag.hasPrefix("--"), flag.count > 2 else { throw ValidationError("'\(flag)' is no setting: give --key value") }
      let name = flag.dropFirst(2)
      if let equals = name.firstIndex(of: "=") {
        values[String(name[..<equals])] = String(name[name.index(after: equals)...])
      } else if let value = rest.popFirst() {
        values[String(name)] = value
      } else {
        throw ValidationError("\(flag) needs a value")
      }
    }
    return values
  }
}

extension Settings {
  /// The settings of a command: all keys of a service, or some of them.
  init<S: Service>(
    _ service: S.Type, _ flags: SettingFlags, keys: [any ConfigurationKeyDeclaration]? = nil
  ) throws {
    do {
      try self.init(
        service: S.name, keys: keys ?? S.keys, flags: flags.values(), environment: ProcessEnvironment.all,
        others: keys == nil ? [] : S.keys)
    } catch let error as ConfigurationError {
      throw ServiceFailure(error).exit()
    }
  }
}
