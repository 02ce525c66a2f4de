internal import AuthDomain
public import ServiceKit

/// The settings of the apps that people sign in to.
public enum AppKeys {
  /// The apps' names.
  public static let names = ConfigurationKey<[String]>(
    "apps", default: ["default"], check: { namesProblem($0) },
    "The names of the apps that people sign in to, separated by commas; clients that name none get the first.")
  /// What each of them accepts.
  public static let documents = ConfigurationKey<String?>(
    optional: "appSettings", check: { $0.flatMap(documentsProblem) },
    "What each app accepts: a JSON object by app name with google.audiences, apple.audiences, brand and limits (see the README).")

  /// All of them, in the order of documentation.
  static let all: [any ConfigurationKeyDeclaration] = [names, documents]

  /// The apps. The first one's Google audiences are the broker's client ids where its document names none.
  ///
  /// - Throws: ``AppDocuments/Fault`` or `AppCatalogue.Fault`, which the checks of the two keys have ruled out.
  static func catalogue(_ settings: Settings) throws -> AppCatalogue {
    let documents = try settings[documents].map { text in try AppDocuments(parsing: text) } ?? AppDocuments()
    var apps = try settings[names].map { try documents.app($0) }
    if var first = apps.first, first.google.audiences.isEmpty {
      first.google.audiences = settings[BrokerKeys.clientIDs]
      apps[0] = first
    }
    return try AppCatalogue(apps)
  }

  /// What is the matter with both settings together.
  static func findings(_ settings: Settings) -> [ConfigurationFinding] {
    let catalogue: AppCatalogue
    do { catalogue = try Self.catalogue(settings) } catch { return [.error(documents, "\(error)")] }
    var findings: [ConfigurationFinding] = []
    let said = settings[documents].flatMap { try? AppDocuments(parsing: $0) }?.names ?? []
    for name in said where catalogue[name] == nil {
      findings.append(.error(documents, "says something of the app '\(name)', which apps does not list"))
    }
    for app in catalogue.all where !IdentityProvider.allCases.contains(where: app.offers) {
      findings.append(.error(documents, "nobody can sign in to the app '\(app.name)': it has no audiences"))
    }
    for provider in IdentityProvider.allCases {
      for audience in catalogue.sharedAudiences(provider) {
        findings.append(
          .warning(
            documents, "several apps accept \(provider.rawValue) tokens for '\(audience)': a token of one serves in the others"))
      }
    }
    return findings
  }

  // MARK: Checks

  @Sendable private static func namesProblem(_ names: [String]) -> String? {
    do throws(AppCatalogue.Fault) {
      _ = try AppCatalogue(names.map { App(name: $0) })
      return nil
    } catch {
      return error.description
    }
  }

  @Sendable private static func documentsProblem(_ text: String) -> String? {
    do throws(AppDocuments.Fault) {
      _ = try AppDocuments(parsing: text)
      return nil
    } catch {
      return error.description
    }
  }
}
