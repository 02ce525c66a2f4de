import MessagesCore
import TestAPI
import WellKnown

extension Everything {
  /// A message with a value other than the default in every field but the oneof's other members.
  static var sample: Everything {
    var message = Everything()
    message.int32Value = -1
    message.int64Value = .min
    message.uint32Value = .max
    message.uint64Value = .max
    message.sint32Value = -64
    message.sint64Value = .min
    message.fixed32Value = 0xdead_beef
    message.fixed64Value = 0xdead_beef_dead_beef
    message.sfixed32Value = -2
    message.sfixed64Value = -3
    message.floatValue = 1.5
    message.doubleValue = -2.25
    message.boolValue = true
    message.stringValue = "naïve \u{0} 😀"
    message.bytesValue = [0, 255, 128]
    message.mood = .sad
    message.inner = Inner(number: 7, maybe: 0, text: "inside")
    message.optionalInt32 = 0
    message.optionalDouble = 0
    message.optionalBool = false
    message.optionalString = ""
    message.optionalBytes = Bytes()
    message.optionalMood = .unspecified
    message.optionalUint64 = 0
    message.int32Values = [0, 1, -1, .max, .min]
    message.sint64Values = [0, -1, .min, .max]
    message.fixed32Values = [1, 2, 3]
    message.doubleValues = [0, -0.0, .infinity, 1e300]
    message.boolValues = [true, false, true]
    message.moods = [.glad, .sad, .unrecognized(99)]
    message.unpackedValues = [5, 6, 7]
    message.stringValues = ["", "one", "zwei", "três"]
    message.bytesValues = [Bytes(), [1], [2, 3]]
    message.inners = [Inner(), Inner(number: 1), Inner(text: "x")]
    message.textByText = ["a": "1", "": "empty", "b": ""]
    message.innerByNumber = [-1: Inner(number: 1), 0: Inner(), .max: Inner(text: "max")]
    message.doubleByBool = [true: 1, false: 0]
    message.moodByNumber = [0: .glad, 1: .unspecified]
    message.bytesByText = ["k": [9]]
    message.choice = .choiceInner(Inner(number: 3))
    message.at = GoogleProtobuf.Timestamp(seconds: 1_700_000_000, nanos: 5)
    message.far = "far"
    message.farInner = Inner(number: 1000)
    return message
  }
}
