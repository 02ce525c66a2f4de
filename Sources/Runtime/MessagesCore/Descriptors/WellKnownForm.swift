/// The messages of `google.protobuf` whose JSON form is not an object of their fields (proto3 JSON mapping).
public enum WellKnownForm: Sendable {
  /// `Any`: the packed message's own form plus `@type`.
  case any
  /// `Timestamp`: an RFC 3339 string.
  case timestamp
  /// `Duration`: seconds with the suffix `s`.
  case duration
  /// `FieldMask`: comma-separated lowerCamel paths.
  case fieldMask
  /// `Struct`: any JSON object.
  case structure
  /// `Value`: any JSON value.
  case value
  /// `ListValue`: any JSON array.
  case listValue
  /// `BoolValue`, `Int32Value` and the others: the bare value.
  case wrapper

  init?(messageName: String) {
    guard messageName.hasPrefix("google.protobuf.") else { return nil }
    switch messageName {
    case "google.protobuf.Any": self = .any
    case "google.protobuf.Timestamp": self = .timestamp
    case "google.protobuf.Duration": self = .duration
    case "google.protobuf.FieldMask": self = .fieldMask
    case "google.protobuf.Struct": self = .structure
    case "google.protobuf.Value": self = .value
    case "google.protobuf.ListValue": self = .listValue
    case "google.protobuf.BoolValue", "google.protobuf.BytesValue", "google.protobuf.DoubleValue",
      "google.protobuf.FloatValue", "google.protobuf.Int32Value", "google.protobuf.Int64Value",
      "google.protobuf.StringValue", "google.protobuf.UInt32Value", "google.protobuf.UInt64Value":
      self = .wrapper
    default: return nil
    }
  }
}
