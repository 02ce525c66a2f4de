import RPC
import RPCClient
import Testing

/// gRPC's service config as JSON.
@Suite("Service config")
struct ServiceConfigTests {
  private static let retry =
    #"{"maxAttempts":3,"initialBackoff":"0.1s","maxBackoff":"1s","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"]}"#

  private func method(_ fields: String) -> String { #"{"methodConfig":[{"name":[{}],\#(fields)}]}"# }

  private func retry(_ name: String, _ value: String) -> String {
    var members = [
      ("maxAttempts", "3"), ("initialBackoff", #""0.1s""#), ("maxBackoff", #""1s""#), ("backoffMultiplier", "2"),
      ("retryableStatusCodes", "[14]"),
    ]
    if let index = members.firstIndex(where: { $0.0 == name }) { members[index].1 = value } else { members.append((name, value)) }
    let text = members.filter { $0.1 != "absent" }.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",")
    return method(#""retryPolicy":{\#(text)}"#)
  }

  private func refusal(_ json: String) -> ServiceConfigError? {
    do throws(ServiceConfigError) {
      _ = try ServiceConfig(json: json)
      return nil
    } catch { return error }
  }

  @Test("Everything that a config may say is read")
  func all() throws {
    let config = try ServiceConfig(
      json: """
        {
          "loadBalancingConfig": [{"xds_cluster_impl_experimental": {"a": 1}}, {"round_robin": {}}, {"pick_first": {}}],
          "methodConfig": [
            {
              "name": [{"service": "a.B", "method": "C"}, {"service": "a.D"}],
              "timeout": "1.5s", "waitForReady": true, "maxRequestMessageBytes": 100, "maxResponseMessageBytes": "200",
              "retryPolicy": {
                "maxAttempts": 4, "initialBackoff": "0.000000001s", "maxBackoff": "315576000000s", "backoffMultiplier": 1.6,
                "retryableStatusCodes": ["UNAVAILABLE", "aborted", 8]
              }
            },
            {"name": [{}], "waitForReady": null}
          ],
          "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1239}
        }
        """)
    #expect(config.loadBalancing == .roundRobin)
    #expect(config.methods.count == 2)
    let first = config.methods[0]
    #expect(first.names == [.init(service: "a.B", method: "C"), .init(service: "a.D")])
    #expect(first.timeout == .milliseconds(1_500) && first.waitsForReady == true)
    #expect(first.maximumRequestBytes == 100 && first.maximumResponseBytes == 200)
    let retry = try #require(first.retry)
    #expect(retry.maximumAttempts == 4 && retry.backoffMultiplier == 1.6)
    #expect(retry.initialBackoff == .nanoseconds(1) && retry.maximumBackoff == .seconds(315_576_000_000))
    #expect(retry.retryableCodes == [.unavailable, .aborted, .resourceExhausted])
    #expect(config.methods[1] == MethodConfig([.init()]))
    // Three digits behind the point count.
    #expect(config.retryThrottling?.maximumTokens == 10 && config.retryThrottling?.thousandthsPerSuccess == 123)
    #expect(try ServiceConfig(json: "{}") == ServiceConfig())
  }

  @Test(
    "A load balancing policy is read in its older and its newer form, in which the first that is known counts",
    arguments: [
      (#"{"loadBalancingPolicy":"ROUND_ROBIN"}"#, LoadBalancingPolicy.roundRobin),
      (#"{"loadBalancingPolicy":"pick_first"}"#, .pickFirst()),
      (#"{"loadBalancingPolicy":"pick_first","loadBalancingConfig":[{"round_robin":{}}]}"#, .roundRobin),
      (#"{"loadBalancingConfig":[{"pick_first":{"shuffleAddressList":true}}]}"#, .pickFirst(shuffled: true)),
    ])
  func loadBalancing(_ json: String, _ policy: LoadBalancingPolicy) throws {
    #expect(try ServiceConfig(json: json).loadBalancing == policy)
  }

  @Test("Attempts are at least two, and more than five are five", arguments: [(2, 2), (5, 5), (6, 5), (1_000_000, 5)])
  func attempts(_ asked: Int, _ given: Int) throws {
    #expect(try ServiceConfig(json: retry("maxAttempts", "\(asked)")).methods[0].retry?.maximumAttempts == given)
  }

  @Test(
    "A retry policy with a wrong part is refused at that part",
    arguments: [
      ("maxAttempts", "1"), ("maxAttempts", "0"), ("maxAttempts", "2.5"), ("maxAttempts", "true"), ("maxAttempts", "absent"),
      ("initialBackoff", #""0s""#), ("initialBackoff", #""-1s""#), ("initialBackoff", "1"), ("initialBackoff", #""1""#),
      ("initialBackoff", #""1.s""#), ("initialBackoff", #"".5s""#), ("initialBackoff", #""0.0000000001s""#),
      ("initialBackoff", #""315576000001s""#), ("initialBackoff", #""s""#), ("initialBackoff", "absent"),
      ("maxBackoff", #""0.0s""#), ("maxBackoff", "absent"), ("backoffMultiplier", "0"), ("backoffMultiplier", "-1"),
      ("backoffMultiplier", #""2""#), ("backoffMultiplier", "absent"), ("retryableStatusCodes", "[]"),
      ("retryableStatusCodes", "absent"), ("retryableStatusCodes", "14"),
    ])
  func retryParts(_ name: String, _ value: String) throws {
    let error = try #require(refusal(retry(name, value)))
    #expect(error.path == "methodConfig[0].retryPolicy.\(name)")
    #expect(error.code == (value == "absent" ? .missingField : .invalidValue))
  }

  @Test("A status that is none, or OK, is refused where it stands", arguments: [#""OK""#, "0", "17", "-1", #""NOPE""#, "null"])
  func codes(_ code: String) throws {
    let error = try #require(refusal(retry("retryableStatusCodes", "[14,\(code)]")))
    #expect(error.path == "methodConfig[0].retryPolicy.retryableStatusCodes[1]" && error.code == .invalidValue)
  }

  @Test(
    "A config with a mistake is refused with its place",
    arguments: [
      ("", "", ServiceConfigError.Code.notJSON), ("{", "", .notJSON), (#"{"a":1,"a":2}"#, "", .notJSON),
      ("[]", "", .invalidValue),
      (#"{"methodConfigs":[]}"#, "methodConfigs", .unknownField),
      (#"{"healthCheckConfig":{"serviceName":"x"}}"#, "healthCheckConfig", .unknownField),
      (#"{"methodConfig":{}}"#, "methodConfig", .invalidValue),
      (#"{"methodConfig":[{}]}"#, "methodConfig[0].name", .missingField),
      (#"{"methodConfig":[{"name":[]}]}"#, "methodConfig[0].name", .invalidValue),
      (#"{"methodConfig":[{"name":[{"method":"C"}]}]}"#, "methodConfig[0].name[0]", .invalidValue),
      (#"{"methodConfig":[{"name":[{"service":1}]}]}"#, "methodConfig[0].name[0].service", .invalidValue),
      (#"{"methodConfig":[{"name":[{"service":"a"},{"service":"a"}]}]}"#, "methodConfig[0].name[1]", .invalidValue),
      (#"{"methodConfig":[{"name":[{}]},{"name":[{}]}]}"#, "methodConfig[1].name[0]", .invalidValue),
      (#"{"methodConfig":[{"name":[{}],"timeout":"0s"}]}"#, "methodConfig[0].timeout", .invalidValue),
      (#"{"methodConfig":[{"name":[{}],"waitForReady":1}]}"#, "methodConfig[0].waitForReady", .invalidValue),
      (#"{"methodConfig":[{"name":[{}],"maxRequestMessageBytes":-1}]}"#, "methodConfig[0].maxRequestMessageBytes", .invalidValue),
      (
        #"{"methodConfig":[{"name":[{}],"maxResponseMessageBytes":4294967296}]}"#, "methodConfig[0].maxResponseMessageBytes",
        .invalidValue
      ),
      (#"{"methodConfig":[{"name":[{}],"hedgingPolicy":{}}]}"#, "methodConfig[0].hedgingPolicy", .unknownField),
      (#"{"loadBalancingPolicy":"grpclb"}"#, "loadBalancingPolicy", .invalidValue),
      (#"{"loadBalancingConfig":[]}"#, "loadBalancingConfig", .invalidValue),
      (#"{"loadBalancingConfig":[{"grpclb":{}}]}"#, "loadBalancingConfig", .invalidValue),
      (#"{"loadBalancingConfig":[{"round_robin":{},"pick_first":{}}]}"#, "loadBalancingConfig[0]", .invalidValue),
      (#"{"loadBalancingConfig":[{"round_robin":{"x":1}}]}"#, "loadBalancingConfig[0].round_robin.x", .unknownField),
      (#"{"retryThrottling":{"maxTokens":0,"tokenRatio":1}}"#, "retryThrottling.maxTokens", .invalidValue),
      (#"{"retryThrottling":{"maxTokens":1001,"tokenRatio":1}}"#, "retryThrottling.maxTokens", .invalidValue),
      (#"{"retryThrottling":{"maxTokens":1,"tokenRatio":0}}"#, "retryThrottling.tokenRatio", .invalidValue),
      (#"{"retryThrottling":{"maxTokens":1,"tokenRatio":0.0009}}"#, "retryThrottling.tokenRatio", .invalidValue),
      (#"{"retryThrottling":{"maxTokens":1}}"#, "retryThrottling.tokenRatio", .missingField),
    ])
  func mistakes(_ json: String, _ path: String, _ code: ServiceConfigError.Code) throws {
    let error = try #require(refusal(json), "\(json) was accepted")
    #expect(error.path == path && error.code == code, "\(json): \(error)")
  }

  @Test("The bounds themselves are accepted")
  func bounds() throws {
    #expect(refusal(#"{"retryThrottling":{"maxTokens":1000,"tokenRatio":0.001}}"#) == nil)
    #expect(refusal(#"{"retryThrottling":{"maxTokens":1,"tokenRatio":1}}"#) == nil)
    #expect(refusal(method(#""maxResponseMessageBytes":4294967295"#)) == nil)
    #expect(refusal(method(#""timeout":"315576000000.999999999s""#)) == nil)
    #expect(refusal(retry("initialBackoff", #""0.000000001s""#)) == nil)
  }
}
