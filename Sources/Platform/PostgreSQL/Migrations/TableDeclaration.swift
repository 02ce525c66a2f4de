/// What is declared of a table beside its migrations: what bounds it, who removes its rows, after how long, and which of its columns hold
/// what belongs to a person.
///
/// A service lists all tables of its schema. A test walks the catalogue: it fails on a table or a column that is in no list, on a task that
/// does not run, on a column of a person that no export has, and on one that outlives the account.
public struct TableDeclaration: Sendable {
  /// Who removes rows.
  public enum Remover: Sendable, Hashable {
    /// A background job by its name, or a part of one: `onboarding sweep: uploads`.
    case task(String)
    /// The deletion of the account.
    case deletion
    /// Whoever works with the row, when that is done.
    case use
    /// Nobody, since the bound needs none.
    case nobody
  }

  /// A column that holds what belongs to a person, or names one. Written as a literal it is exported, and gone with the account.
  public struct PersonalColumn: Sendable, ExpressibleByStringLiteral {
    /// Its name.
    public let name: String
    /// Why an export does not have it; nil: it does.
    public let whyHidden: String?
    /// Why it outlives the account, and for how long; nil: it does not.
    public let whyKept: String?

    /// A column that an export has and a deletion removes.
    public init(stringLiteral name: String) { self.init(name, nil, nil) }

    private init(_ name: String, _ whyHidden: String?, _ whyKept: String?) {
      self.name = name
      self.whyHidden = whyHidden
      self.whyKept = whyKept
    }

    /// A column that no export has (`why`): a hash, a secret, what is handed out in another form.
    public static func hidden(_ name: String, _ why: String, kept: String? = nil) -> PersonalColumn {
      PersonalColumn(name, why, kept)
    }

    /// A column that an export has and that outlives the account (`why`).
    public static func kept(_ name: String, _ why: String) -> PersonalColumn { PersonalColumn(name, nil, why) }
  }

  /// The table, without its schema.
  public let name: String
  /// What bounds it.
  public let bound: String
  /// Who removes rows, in any order.
  public let removers: [Remover]
  /// After how long a row goes.
  public let after: String
  /// The columns that hold what belongs to a person: text, bytes, documents and identifiers. Numbers, times and words of the program say
  /// nothing without the rest of their row.
  public let personal: [PersonalColumn]
  /// All other columns.
  public let others: [String]

  /// A declaration.
  ///
  /// - Parameters:
  ///   - name: The table, without its schema.
  ///   - bound: What bounds it.
  ///   - removers: Who removes rows.
  ///   - after: After how long a row goes.
  ///   - personal: The columns that hold what belongs to a person.
  ///   - others: All others, with blanks between them.
  public init(
    _ name: String, bound: String, removedBy removers: [Remover], after: String, personal: [PersonalColumn] = [], others: String
  ) {
    self.name = name
    self.bound = bound
    self.removers = removers
    self.after = after
    self.personal = personal
    self.others = others.split(whereSeparator: \.isWhitespace).map(String.init)
  }

  /// The record of migrations, which every schema has.
  public static let migrations = TableDeclaration(
    "schema_migration", bound: "one row for each migration", removedBy: [.nobody], after: "never",
    others: "version name checksum applied_at")

  /// The declarations as a table in Markdown.
  public static func markdown(_ tables: [TableDeclaration]) -> String {
    var lines = ["| table | what bounds it | who removes | after | of a person |", "|---|---|---|---|---|"]
    for table in tables.sorted(by: { $0.name < $1.name }) {
      let columns = table.personal.map { "`\($0.name)`" + ($0.whyHidden == nil ? "" : " ¹") + ($0.whyKept == nil ? "" : " ²") }
      let cells = [
        "`\(table.name)`", table.bound, table.removers.map(\.text).joined(separator: ", "), table.after,
        columns.joined(separator: ", "),
      ]
      lines.append("| \(cells.joined(separator: " | ")) |")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}

extension TableDeclaration.Remover {
  fileprivate var text: String {
    switch self {
    case .task(let name): "\(name)"
    case .deletion: "deletion of the account"
    case .use: "use"
    case .nobody: "nobody"
    }
  }
}
