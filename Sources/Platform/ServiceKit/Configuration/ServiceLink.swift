/// The variables that Kubernetes sets in each container for each service of its namespace: of a service `parley-auth` all of them begin as
/// the settings of `parley-auth` do, and so do those of `parley-auth-admin`.
///
/// They are known by their form, which no setting has: `[NAME_]SERVICE_HOST`, `[NAME_]SERVICE_PORT[_PORTNAME]`,
/// `[NAME_]PORT_<number>_<protocol>[_PROTO|_PORT|_ADDR]`, and `[NAME_]PORT` with the address of the service.
enum ServiceLink {
  private static let protocols: Set<Substring> = ["TCP", "UDP", "SCTP"]

  /// Whether a variable, without the prefix of the service's settings, is one of them.
  static func isOne(_ name: Substring, _ value: String) -> Bool {
    let words = name.split(separator: "_", omittingEmptySubsequences: false)
    guard words.allSatisfy({ !$0.isEmpty }) else { return false }
    if words.suffix(2) == ["SERVICE", "HOST"] { return true }
    if zip(words, words.dropFirst()).contains(where: { $0 == "SERVICE" && $1 == "PORT" }) { return true }
    if words.last == "PORT", protocols.contains(where: { value.hasPrefix("\($0.lowercased())://") }) { return true }
    return words.indices.contains { index in
      guard words[index] == "PORT", words.count > index + 2, isNumber(words[index + 1]), protocols.contains(words[index + 2])
      else { return false }
      let rest = words[(index + 3)...]
      return rest.isEmpty || rest.elementsEqual(["PROTO"]) || rest.elementsEqual(["PORT"]) || rest.elementsEqual(["ADDR"])
    }
  }

  private static func isNumber(_ word: Substring) -> Bool { UInt16(word) != nil }
}
