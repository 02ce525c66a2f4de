import JSON

/// The JSON of a text. Throws any error: the testing macros cannot carry a typed one.
func parsed(_ text: String) throws -> JSONValue { try JSONParser.parse(text) }

/// The JSON of a body.
func parsed(_ bytes: [UInt8]) throws -> JSONValue { try JSONParser.parse(bytes) }
