import AuthAPI
import Foundation
import OnboardingAPI
import ParleyAPI
import RPC
import ServiceKit
import TestParley
import TestSupport
import Testing

@Suite("Who may call what is for other services")
struct ServiceCallerTests {
  /// A service, and who of ours calls it.
  struct Served: CustomStringConvertible, Sendable {
    let description: String
    let services: [ServiceDescriptor]
    /// The RPC services that others call, each with its callers: whoever adds one says here who that is.
    let callers: [String: [String]]

    static let all = [
      Served(
        description: "auth", services: AuthAPI.AuthService.services,
        callers: [
          "SessionDirectoryService": ["spiffe://parley/onboarding"],
          "EntitlementDirectoryService": ["spiffe://parley/onboarding"],
        ]),
      Served(
        description: "onboarding", services: OnboardingAPI.OnboardingService.services,
        callers: ["AccountDataService": ["spiffe://parley/auth"]]),
    ]
  }

  @Test(
    "Every method of SERVICE access has a caller that is named for it in what is deployed, and nobody is named for anything else (AF-05)",
    arguments: Served.all)
  func named(_ served: Served) throws {
    #expect(Set(ServiceCaller.services(among: served.services)) == Set(served.callers.keys))
    let variable = "PARLEY_\(served.description.uppercased())_TLS_CLIENT_IDENTITIES="
    let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    let text = try String(contentsOfFile: "/\(root)/deploy/\(served.description).env", encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first { $0.drop { $0 == "#" }.hasPrefix(variable) })
    let value = String(line[try #require(line.range(of: variable)).upperBound...])
    let callers = try #require([ServiceCaller](configurationText: value), "\(value)")
    let named = callers.reduce(into: [String: [String]]()) { $0[$1.service, default: []].append($1.identity.configurationText) }
    #expect(named == served.callers)
  }

  @Test("What is not an RPC service and an identity is refused: an identity alone is named for nothing (AF-05)")
  func values() throws {
    for text in [
      "spiffe://parley/onboarding", "=spiffe://parley/onboarding", "SessionDirectoryService=", "Session Directory=notes.internal",
      "parley.auth.v1.SessionDirectoryService=notes.internal", "SessionDirectoryService=spiffe://", "",
    ] { #expect(ServiceCaller(configurationText: text) == nil, "\(text)") }
    let caller = try #require(ServiceCaller(configurationText: "SessionDirectoryService=Notes.Internal"))
    #expect(caller.service == "SessionDirectoryService" && caller.identity.configurationText == "notes.internal")
    #expect(ServiceCaller(configurationText: caller.configurationText) == caller)
  }
}
