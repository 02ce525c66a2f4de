import JudgeAPI
import MessagesCore
import MessagesWire
import Testing
import WellKnown

@testable import protoc_gen_parley

@Suite("Awkward names in proto files")
struct AwkwardNamesTests {
  private typealias Subject = ProtobufTestMessagesProto3.TestAllTypesProto3

  @Test("Names of one enum number that differ in case alone are one name in Swift, and all of them are read from JSON")
  func aliases() throws {
    for name in ["ALIAS_BAZ", "MOO", "moo", "bAz"] {
      let message = try Subject(jsonString: #"{"optionalAliasedEnum":"\#(name)"}"#)
      #expect(message.optionalAliasedEnum == .moo && message.optionalAliasedEnum == .aliasBaz)
      #expect(try message.jsonString() == #"{"optionalAliasedEnum":"ALIAS_BAZ"}"#)
    }
  }

  @Test("Names of different numbers stay different: the first keeps its name")
  func distinctNames() {
    #expect(
      SwiftNames.distinct(["fieldName", "fieldName", "other"], numbers: [1, 2, 3]) == ["fieldName", "fieldName_2", "other"])
    #expect(SwiftNames.distinct(["moo", "moo"], numbers: [2, 2]) == ["moo", "moo"])
    #expect(SwiftNames.distinct(["low", "low"], numbers: [0, -1]) == ["low", "low_minus1"])
    #expect(SwiftNames.distinct(["a", "a_2", "a"], numbers: [1, 3, 2]) == ["a", "a_2", "a_2_2"])
  }

  @Test("A field's JSON name follows from its name as protobuf makes it, and both are read")
  func jsonNames() throws {
    let names = [
      "fieldname1": "fieldname1", "field_name2": "fieldName2", "_field_name3": "FieldName3", "field__name4_": "fieldName4",
      "field0name5": "field0name5", "field_0_name6": "field0Name6", "fieldName7": "fieldName7", "FieldName8": "FieldName8",
      "field_Name9": "fieldName9", "Field_Name10": "FieldName10", "FIELD_NAME11": "FIELDNAME11", "FIELD_name12": "FIELDName12",
      "__field_name13": "FieldName13", "__Field_name14": "FieldName14", "field__name15": "fieldName15",
      "field__Name16": "fieldName16", "field_name17__": "fieldName17", "Field_name18__": "FieldName18",
    ]
    for (name, json) in names {
      let message = try Subject(jsonString: #"{"\#(name)":5}"#)
      #expect(try message.jsonString() == #"{"\#(json)":5}"#)
      #expect(try Subject(jsonString: message.jsonString()) == message)
      #expect(try Subject(protobuf: message.protobufBytes()) == message)
    }
  }

  @Test("A message that contains itself by way of another, and a null in a oneof, survive both formats")
  func recursion() throws {
    var message = Subject()
    message.optionalNestedMessage = .init(a: 1)
    message.optionalNestedMessage?.corecursive = Subject()
    message.optionalNestedMessage?.corecursive?.oneofField = .oneofNullValue(.nullValue)
    let json = #"{"optionalNestedMessage":{"a":1,"corecursive":{"oneofNullValue":null}}}"#
    #expect(try message.jsonString() == json)
    #expect(try Subject(jsonString: json) == message)
    #expect(try Subject(protobuf: message.protobufBytes()) == message)
  }
}
