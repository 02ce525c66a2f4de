import JSON
import MessagesCore
import ParleyAPI
import RPC

/// A record that is durable at the service, and how far the work on it was seen to have come. It outlives the process.
struct Delivery: Sendable {
  /// What the record was pushed by; empty for one that the service kept and did not get from here.
  let key: String
  /// Whose it is; empty where nobody said.
  let person: String
  /// What the service answered.
  let response: CompleteResponse
  /// The last place in the course of events that was seen.
  var position: String

  /// Whether it was just made: nothing can have happened that the response does not say.
  private(set) var isNew = false

  var submissionID: String { response.submission?.id ?? response.jobID }

  /// A record that the service has just taken. Nothing of its events was seen.
  init(key: String, person: String, response: CompleteResponse) {
    self.key = key
    self.person = person
    self.response = response
    position = ""
    isNew = true
  }

  /// Whether it is certainly not this person's.
  func isForeign(to person: String) -> Bool { !self.person.isEmpty && !person.isEmpty && self.person != person }

  /// Reads what ``bytes`` wrote; nil for anything else.
  init?(_ bytes: [UInt8]) {
    guard let json = try? JSONParser.parse(bytes), let key = json["key"]?.string, let position = json["position"]?.string,
      let text = json["response"]?.string,
      let response = try? CompleteResponse(jsonString: text, options: .init(ignoresUnknownFields: true))
    else { return nil }
    self.key = key
    person = json["person"]?.string ?? ""
    self.position = position
    self.response = response
  }

  var bytes: [UInt8] {
    let text = (try? response.jsonString()) ?? "{}"
    return JSONValue.object([
      "key": .string(key), "person": .string(person), "position": .string(position), "response": .string(text),
    ]).encoded()
  }
}
