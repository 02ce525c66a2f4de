import MessagesCore
import MessagesWire
import TestAPI
import Testing
import WellKnown

@Suite("The proto3 JSON mapping")
struct JSONMappingTests {
  @Test(
    "A field is written as the mapping says",
    arguments: [
      (Everything(int64Value: .max), #"{"int64Value":"9223372036854775807"}"#),
      (Everything(uint32Value: .max), #"{"uint32Value":4294967295}"#),
      (Everything(doubleValue: .nan), #"{"doubleValue":"NaN"}"#),
      (Everything(floatValue: -.infinity), #"{"floatValue":"-Infinity"}"#),
      (Everything(doubleValue: -0.0), #"{"doubleValue":-0}"#), (Everything(bytesValue: [0xfb, 0xff]), #"{"bytesValue":"+/8="}"#),
      (Everything(mood: .glad), #"{"mood":"MOOD_GLAD"}"#), (Everything(mood: .unrecognized(42)), #"{"mood":42}"#),
      (Everything(optionalInt32: 0), #"{"optionalInt32":0}"#), (Everything(choice: .choiceBool(false)), #"{"choiceBool":false}"#),
      (Everything(innerByNumber: [-1: .init()]), #"{"innerByNumber":{"-1":{}}}"#),
      (Everything(doubleByBool: [true: 1.5]), #"{"doubleByBool":{"true":1.5}}"#),
      (Everything(at: .init(seconds: 0, nanos: 1000)), #"{"at":"1970-01-01T00:00:00.000001Z"}"#),
    ])
  func writing(message: Everything, json: String) throws {
    #expect(try message.jsonString() == json)
    if message.doubleValue.isNaN {
      #expect(try Everything(jsonString: json).doubleValue.isNaN)
    } else {
      #expect(try Everything(jsonString: json) == message)
    }
  }

  @Test("Every kind of field survives JSON")
  func roundTrip() throws {
    #expect(try Everything(jsonString: Everything.sample.jsonString()) == Everything.sample)
    let options = JSONEncodingOptions(writesDefaults: true, usesProtoNames: true, isPretty: true)
    #expect(try Everything(jsonString: Everything().jsonString(options: options)) == Everything())
    #expect(try Everything().jsonString(options: options).contains(#""int32_value": 0"#))
  }

  @Test(
    "What the mapping allows besides is read",
    arguments: [
      (#"{"int64Value":5}"#, Everything(int64Value: 5)), (#"{"int32Value":"5"}"#, Everything(int32Value: 5)),
      (#"{"int32Value":1e2}"#, Everything(int32Value: 100)), (#"{"int32_value":3.0}"#, Everything(int32Value: 3)),
      (#"{"bytesValue":"-_8"}"#, Everything(bytesValue: [0xfb, 0xff])), (#"{"mood":1}"#, Everything(mood: .glad)),
      (#"{"doubleValue":"1.5"}"#, Everything(doubleValue: 1.5)), (#"{"inner":null,"stringValues":null}"#, Everything()),
      (#"{"at":"1970-01-01T01:00:00+01:00"}"#, Everything(at: .init())), (#"{"boolValue":true}"#, Everything(boolValue: true)),
    ])
  func reading(json: String, message: Everything) throws {
    #expect(try Everything(jsonString: json) == message)
  }

  @Test(
    "What the mapping forbids is refused",
    arguments: [
      "", "{", "[]", "null", #"{"nope":1}"#, #"{"int32Value":1.5}"#, #"{"int32Value":2147483648}"#, #"{"uint32Value":-1}"#,
      #"{"int32Value":" 1"}"#, #"{"int32Value":true}"#, #"{"int64Value":"9223372036854775808"}"#, #"{"boolValue":"true"}"#,
      #"{"stringValue":1}"#, #"{"bytesValue":"%"}"#, #"{"bytesValue":"A"}"#, #"{"mood":"MOOD_NONE"}"#, #"{"mood":1.5}"#,
      #"{"doubleValue":1e999}"#, #"{"floatValue":1e39}"#, #"{"doubleValue":"inf"}"#, #"{"stringValues":[null]}"#,
      #"{"stringValues":"x"}"#,
      #"{"int32Value":1,"int32_value":2}"#, #"{"choiceBool":true,"choiceInt32":1}"#, #"{"textByText":{"a":null}}"#,
      #"{"doubleByBool":{"1":1}}"#, #"{"innerByNumber":{"x":{}}}"#, #"{"at":"1970-01-01"}"#, #"{"at":"1970-01-01t00:00:00z"}"#,
      #"{"at":"1970-02-29T00:00:00Z"}"#, #"{"at":"0000-12-31T23:59:59Z"}"#, #"{"at":"1970-01-01T00:00:00.0000000001Z"}"#,
    ])
  func refusing(json: String) {
    #expect(throws: DecodeError.self) { try Everything(jsonString: json) }
  }

  @Test("Unknown members and enum names are skipped on request")
  func ignoring() throws {
    let options = JSONDecodingOptions(ignoresUnknownFields: true)
    let json =
      #"{"nope":[1,{"a":2}],"mood":"NEW","moods":["NEW","MOOD_GLAD"],"moodByNumber":{"1":"NEW","2":"MOOD_SAD"},"far":"x"}"#
    #expect(try Everything(jsonString: json, options: options) == Everything(moods: [.glad], moodByNumber: [2: .sad], far: "x"))
  }

  @Test("google.protobuf.Struct is any JSON object")
  func structure() throws {
    let json = #"{"a":[null,true,-1.5,"s",{"b":{}},[]]}"#
    let object = try GoogleProtobuf.Struct(jsonString: json)
    #expect(try object.jsonString() == json)
    #expect(try GoogleProtobuf.Struct(protobuf: object.protobufBytes()) == object)
    let tooMuch = GoogleProtobuf.Value(kind: .numberValue(.infinity))
    #expect(throws: EncodeError.self) { try tooMuch.jsonString() }
  }

  @Test("Durations, masks and wrappers have their own forms")
  func wellKnown() throws {
    #expect(try GoogleProtobuf.Duration(seconds: -1, nanos: -500_000_000).jsonString() == #""-1.500s""#)
    #expect(try GoogleProtobuf.Duration(jsonString: #""-0.000000001s""#) == .init(seconds: 0, nanos: -1))
    #expect(throws: DecodeError.self) { try GoogleProtobuf.Duration(jsonString: #""315576000001s""#) }
    #expect(throws: EncodeError.self) { try GoogleProtobuf.Duration(seconds: 1, nanos: -1).jsonString() }
    #expect(try GoogleProtobuf.FieldMask(paths: ["a.b_c", "d"]).jsonString() == #""a.bC,d""#)
    #expect(try GoogleProtobuf.FieldMask(jsonString: #""a.bC,d""#).paths == ["a.b_c", "d"])
    #expect(throws: EncodeError.self) { try GoogleProtobuf.FieldMask(paths: ["aB"]).jsonString() }
    #expect(try GoogleProtobuf.Int64Value(value: 0).jsonString() == #""0""#)
    #expect(try GoogleProtobuf.DoubleValue(jsonString: "1.5").value == 1.5)
    #expect(try GoogleProtobuf.StringValue(value: "s").jsonString() == #""s""#)
  }

  @Test("An Any carries its message's own form and type")
  func any() throws {
    let registry = MessageRegistry([EchoRequest.self, GoogleProtobuf.Duration.self], wire: WireFormat())
    let writing = JSONEncodingOptions(registry: registry)
    let reading = JSONDecodingOptions(registry: registry)
    let echo = try GoogleProtobuf.AnyMessage(
      typeURL: "type.googleapis.com/parley.testing.v1.EchoRequest", value: Bytes(EchoRequest(text: "hi").protobufBytes()))
    let json = #"{"@type":"type.googleapis.com/parley.testing.v1.EchoRequest","text":"hi"}"#
    #expect(try echo.jsonString(options: writing) == json)
    #expect(try GoogleProtobuf.AnyMessage(jsonString: json, options: reading) == echo)
    let duration = #"{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}"#
    let message = try GoogleProtobuf.AnyMessage(jsonString: duration, options: reading)
    #expect(try message.jsonString(options: writing) == duration)
    #expect(throws: DecodeError.self) { try GoogleProtobuf.AnyMessage(jsonString: duration) }
    #expect(throws: EncodeError.self) { try echo.jsonString() }
  }

  @Test("An Empty in an Any is read with and without its value")
  func emptyInAny() throws {
    let registry = MessageRegistry([GoogleProtobuf.Empty.self], wire: WireFormat())
    let reading = JSONDecodingOptions(registry: registry)
    let url = "type.googleapis.com/google.protobuf.Empty"
    for json in [#"{"@type":"\#(url)"}"#, #"{"@type":"\#(url)","value":{}}"#] {
      #expect(try GoogleProtobuf.AnyMessage(jsonString: json, options: reading) == .init(typeURL: url))
    }
    #expect(throws: DecodeError.self) {
      try GoogleProtobuf.AnyMessage(jsonString: #"{"@type":"\#(url)","value":{"a":1}}"#, options: reading)
    }
  }

  @Test("Anys within Anys are written to 100 levels, and refused beyond", arguments: [(100, true), (101, false), (2_000, false)])
  func anyDepth(levels: Int, isWritten: Bool) throws {
    let options = JSONEncodingOptions(registry: MessageRegistry([GoogleProtobuf.AnyMessage.self], wire: WireFormat()))
    var message = GoogleProtobuf.AnyMessage()
    for _ in 0..<levels {
      message = .init(typeURL: "x/google.protobuf.Any", value: Bytes(try message.protobufBytes()))
    }
    if isWritten {
      #expect(try message.jsonString(options: options).hasSuffix(String(repeating: "}", count: levels + 1)))
    } else {
      #expect { try message.jsonString(options: options) } throws: { ($0 as? EncodeError)?.code == .tooDeep }
    }
  }

  @Test("JSON nested too deeply is refused: 100 levels are read, 101 are not")
  func depth() throws {
    let nested = { (levels: Int) in
      String(repeating: #"{"left":"#, count: levels) + "{}" + String(repeating: "}", count: levels)
    }
    #expect(throws: Never.self) { try Tree(jsonString: nested(100)) }
    for levels in [101, 150, 10_000, 100_000] {
      #expect { try Tree(jsonString: nested(levels)) } throws: { ($0 as? DecodeError)?.code == .tooDeep }
    }
    let lists = String(repeating: "[", count: 100_000)
    #expect { try GoogleProtobuf.Value(jsonString: lists) } throws: { ($0 as? DecodeError)?.code == .tooDeep }
  }
}
