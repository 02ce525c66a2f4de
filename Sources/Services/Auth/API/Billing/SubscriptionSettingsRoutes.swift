internal import AuthDomain
internal import ErrorReasons
internal import JSON
internal import Logging
internal import PostgreSQL
internal import RPC
internal import RPCServer
internal import ServiceKit
internal import Values

/// The first app's paths: `PUT /api/settings/subscription-status` and `PUT /api/settings/revenuecat-customer-id`.
///
/// What the app claims unlocks nothing: it is a reason to ask RevenueCat.
struct SubscriptionSettingsRoutes: Sendable {
  let entitlements: Entitlements
  let callers: any BillingCallers
  let log: Logger

  var routes: [HTTPRoute] {
    [put("/api/settings/subscription-status", claim), put("/api/settings/revenuecat-customer-id", link)]
  }

  private func claim(_ body: JSONObject, _ user: UserID) async throws(BillingRefusal) -> EntitlementRecord {
    guard let isActive = member(body, "isActive")?.bool, let isEntitled = member(body, "isEntitled")?.bool else {
      throw BillingRefusal(.invalidArgument, detail: "isActive and isEntitled are true or false", field: "isActive")
    }
    let record = try await entitlements.sync(user)
    let claimed = SubscriptionStatus(claimedActive: isActive, entitled: isEntitled)
    let found = record.status(at: entitlements.now())
    if claimed != found {
      log.info(
        "an app and RevenueCat disagree",
        metadata: ["user": "\(user)", "claimed": "\(claimed.rawValue)", "found": "\(found.rawValue)"])
    }
    return record
  }

  private func link(_ body: JSONObject, _ user: UserID) async throws(BillingRefusal) -> EntitlementRecord {
    guard let id = member(body, "originalAppUserId")?.string, !id.isEmpty else {
      throw BillingRefusal(.invalidArgument, detail: "originalAppUserId is missing", field: "originalAppUserId")
    }
    return try await entitlements.link(id, to: user)
  }

  /// The member by its name in camel case, or in snake case, which one of the app's encoders wrote.
  private func member(_ body: JSONObject, _ name: String) -> JSONValue? {
    let snake = name.reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
    return body[name] ?? body[snake]
  }

  // MARK: HTTP

  private func put(
    _ path: String, _ work: @escaping @Sendable (JSONObject, UserID) async throws(BillingRefusal) -> EntitlementRecord
  ) -> HTTPRoute {
    HTTPRoute(path, refusing: { .refused($0).secured }) { request in
      guard request.method == "PUT" else { return .wrongMethod(allowed: "PUT").secured }
      return await answer(request, work).secured
    }
  }

  private func answer(
    _ request: HTTPServerRequest, _ work: @Sendable (JSONObject, UserID) async throws(BillingRefusal) -> EntitlementRecord
  ) async -> HTTPServerResponse {
    let user: UserID
    do throws(RPCError) { user = try await callers.user(of: request) } catch {
      return .failure(error)
    }
    guard let body = (try? JSONParser.parse(request.body))?.object else {
      return .failure(400, "the body is not a JSON object", code: "INVALID_ARGUMENT")
    }
    do throws(BillingRefusal) { return .json(200, success(try await work(body, user))) } catch {
      return .failure(error.httpStatus, error.kind == .invalidArgument ? error.detail : error.kind.text, error.rpcError)
    }
  }

  private func success(_ record: EntitlementRecord) -> [UInt8] {
    let now = entitlements.now()
    let status = record.status(at: now)
    var data: JSONObject = [
      "status": .string(status == .none ? "cancelled" : status.rawValue), "isActive": .bool(status.isEntitled),
      "isEntitled": .bool(status.isEntitled), "willRenew": .bool(record.subscription?.willRenew ?? false),
    ]
    if let subscription = record.subscription {
      data["productId"] = .string(subscription.productID)
      if let end = subscription.accessEndsAt {
        data["expirationDate"] = .string(end.description)
      }
    }
    if let url = record.managementURL { data["managementURL"] = .string(url) }
    if let customer = record.customer { data["revenuecatCustomerId"] = .string(customer.text) }
    return JSONValue.object(["success": true, "data": .object(data)]).encoded()
  }
}
