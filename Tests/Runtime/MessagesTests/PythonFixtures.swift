// swift-format-ignore-file
// Written by Google's protobuf for Python 7.36.2: what another implementation makes of `Everything`.

/// Messages as another implementation writes them.
enum PythonFixtures {
  static let cases: [(name: String, base64: String, json: String)] = [
    ("empty", "", ##"""
      {}
      """##),
    ("scalars", "CP///////////wEQgICAgICAgICAARj/////DyD///////////8BKH8w////////////AT3vvq3eQQAAAAAAAACATf7///9R/f////////9dAADAP2HEEVi74xu4gWgBchRuYcOvdmUgACDwn5iAICJcIOKAqHqAAgABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj9AQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVpbXF1eX2BhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ent8fX5/gIGCg4SFhoeIiYqLjI2Oj5CRkpOUlZaXmJmam5ydnp+goaKjpKWmp6ipqqusra6vsLGys7S1tre4ubq7vL2+v8DBwsPExcbHyMnKy8zNzs/Q0dLT1NXW19jZ2tvc3d7f4OHi4+Tl5ufo6err7O3u7/Dx8vP09fb3+Pn6+/z9/v+AAf///////////wE=", ##"""
      {"int32Value": -1, "int64Value": "-9223372036854775808", "uint32Value": 4294967295, "uint64Value": "18446744073709551615", "sint32Value": -64, "sint64Value": "-9223372036854775808", "fixed32Value": 3735928559, "fixed64Value": "9223372036854775808", "sfixed32Value": -2, "sfixed64Value": "-3", "floatValue": 1.5, "doubleValue": -2.25e-300, "boolValue": true, "stringValue": "naïve \u0000 😀 \"\\  ", "bytesValue": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+AgYKDhIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmqq6ytrq+wsbKztLW2t7i5uru8vb6/wMHCw8TFxsfIycrLzM3Oz9DR0tPU1dbX2Nna29zd3t/g4eLj5OXm5+jp6uvs7e7v8PHy8/T19vf4+fr7/P3+/w==", "mood": "MOOD_SAD"}
      """##),
    ("inner", "igEMCAcQABoGaW5zaWRl", ##"""
      {"inner": {"number": 7, "maybe": 0, "text": "inside"}}
      """##),
    ("presence", "qAEAsQEAAAAAAAAAALgBAMIBAMoBANABANgBAA==", ##"""
      {"optionalInt32": 0, "optionalDouble": 0.0, "optionalBool": false, "optionalString": "", "optionalBytes": "", "optionalMood": "MOOD_UNSPECIFIED", "optionalUint64": "0"}
      """##),
    ("lists", "+gEbAAH///////////8B/////weAgICA+P////8BggIWAAH+//////////8B////////////AYoCDAEAAAACAAAAAwAAAJICKAAAAAAAAAAAmpmZmZmZuT+cdQCIPOQ3fgAAAAAAAPB/AAAAAAAA8P+aAgIBAKICDAH///////////8BY6gCBagCBrICALICA29uZbICBXRyw6pzugIAugIBAboCAv7/wgIAwgICCAE=", ##"""
      {"int32Values": [0, 1, -1, 2147483647, -2147483648], "sint64Values": ["0", "-1", "9223372036854775807", "-9223372036854775808"], "fixed32Values": [1, 2, 3], "doubleValues": [0.0, 0.1, 1e+300, "Infinity", "-Infinity"], "boolValues": [true, false], "moods": ["MOOD_GLAD", "MOOD_SAD", 99], "unpackedValues": [5, 6], "stringValues": ["", "one", "três"], "bytesValues": ["", "AQ==", "/v8="], "inners": [{}, {"number": 1}]}
      """##),
    ("maps", "mgMGCgFhEgExogMPCPv//////////wESAggDqgMLCAERAAAAAAAA4D+yAwQIBxABugMGCgFrEgEJ", ##"""
      {"textByText": {"a": "1"}, "innerByNumber": {"-5": {"number": 3}}, "doubleByBool": {"true": 0.5}, "moodByNumber": {"7": "MOOD_GLAD"}, "bytesByText": {"k": "CQ=="}}
      """##),
    ("choice_int32", "6AMA", ##"""
      {"choiceInt32": 0}
      """##),
    ("choice_string", "8gMBcw==", ##"""
      {"choiceString": "s"}
      """##),
    ("choice_bytes", "+gMBAQ==", ##"""
      {"choiceBytes": "AQ=="}
      """##),
    ("choice_double", "kQQAAAAAAAAAgA==", ##"""
      {"choiceDouble": -0.0}
      """##),
    ("choice_mood", "mAQB", ##"""
      {"choiceMood": "MOOD_GLAD"}
      """##),
    ("choice_bool", "oAQA", ##"""
      {"choiceBool": false}
      """##),
    ("choice_inner", "ggQDGgF4", ##"""
      {"choiceInner": {"text": "x"}}
      """##),
    ("timestamp", "ugQNCP///////////wEQAQ==", ##"""
      {"at": "1969-12-31T23:59:59.000000001Z"}
      """##),
    ("timestamp late", "ugQNCP+C0f+vBxDAj67cAw==", ##"""
      {"at": "9999-12-31T23:59:59.999Z"}
      """##),
    ("timestamp early", "ugQLCICSuMOY/v///wE=", ##"""
      {"at": "0001-01-01T00:00:00Z"}
      """##),
    ("timestamp leap", "ugQMCPDzga8GEKC8nfgC", ##"""
      {"at": "2024-02-29T12:34:56.789012Z"}
      """##),
    ("far", "wj4DZmFy+v///w8DCOgH", ##"""
      {"far": "far", "farInner": {"number": 1000}}
      """##),
    ("negative zero", "XQAAAIBhAAAAAAAAAIA=", ##"""
      {"floatValue": -0.0, "doubleValue": -0.0}
      """##),
  ]
}
