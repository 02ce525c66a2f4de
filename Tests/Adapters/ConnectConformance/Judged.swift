public import JudgeAPI

/// The messages of `connectrpc.conformance.v1`, under a name that can be read.
public typealias Judged = ConnectrpcConformanceV1
