// swift-tools-version: 6.2

import PackageDescription

#if canImport(Glibc)
import Glibc
#endif

/// Every target is built the same way. `PARLEY_STRICT=1` (set by `.ci/run` and `make lint`) turns warnings into errors.
let settings: [SwiftSetting] =
  [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    // Loop-confined classes already guarantee exclusive access; the dynamic checks cost 1,250 instructions per RPC.
    .unsafeFlags(["-enforce-exclusivity=unchecked"]),
  ] + (Context.environment["PARLEY_STRICT"] == "1" ? [.treatAllWarnings(as: .error)] : [])

/// For generated messages that the path of no call leads through (schemas, reflection, health, error details, spans): to make
/// generic code anew for each of over a hundred types took a third of their compile time.
let unspecialized: [SwiftSetting] = [
  .unsafeFlags(["-Xllvm", "-sil-disable-pass=generic-specializer"], .when(configuration: .release))
]

func floor(
  _ path: String, _ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = [],
  and more: [SwiftSetting] = []
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/\(path)", exclude: exclude, swiftSettings: settings + more)
}

/// Since 2.36, glibc reads relocations that are packed: 1.5 MB less in a binary, and less to do at its start.
let packsRelocations: Bool = {
  #if os(Linux)
  var version = [CChar](repeating: 0, count: 64)
  confstr(Int32(_CS_GNU_LIBC_VERSION), &version, version.count)
  let numbers = version.map { UInt8(bitPattern: $0) }.split { !(0x30...0x39).contains($0) }
    .map { Int(String(decoding: $0, as: UTF8.self)) ?? 0 }
  return numbers.count > 1 && (numbers[0], numbers[1]) >= (2, 36)
  #else
  return false
  #endif
}()

/// What ships is linked by lld: nobody loads anything into it, so no symbol is exported, and what is the same code or is never
/// called is left out.
let linking: [LinkerSetting] = [
  .unsafeFlags(
    ["-use-ld=lld", "-Xlinker", "--no-export-dynamic", "-Xlinker", "--icf=safe"]
      + (packsRelocations ? ["-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"] : []),
    .when(platforms: [.linux], configuration: .release))
]

func executable(_ name: String, at path: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  // Fuzzers and sanitizers bring a linker's needs of their own.
  let ships = path.hasPrefix("Sources/") || name.hasPrefix("bench-")
  return .executableTarget(
    name: name, dependencies: dependencies, path: path, exclude: exclude, swiftSettings: settings,
    linkerSettings: ships ? linking : [])
}

func tests(_ path: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: path.split(separator: "/").last.map(String.init)!, dependencies: dependencies, path: "Tests/\(path)",
    swiftSettings: settings)
}

func library(_ name: String, pkgConfig: String, apt: String) -> Target {
  .systemLibrary(name: name, path: "Sources/C/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

let log = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let metricsCore = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

/// `make fuzz` sets it: the fuzzed program is linked with libFuzzer, which nothing else needs.
let isFuzzing = Context.environment["PARLEY_FUZZ"] == "1"

let adapter: [Target.Dependency] = [
  "JudgeAPI", "EventLoop", "HTTP2", "JSON", "MessagesCore", "MessagesWire", "RPC", "WellKnown", arguments,
]

let fuzzer = executable(
  "parley-fuzz", at: "Tests/Fuzz/Targets",
  [
    "TestAPI", "JudgeAPI", "Buffers", "JSON", "EventLoop", "MessagesCore", "MessagesWire", "HTTP2", "RPC", "Compression",
    "ConnectWire", "WellKnown", "RPCWire", "RPCServer", "RPCClient", "JOSE", "Audio", "TestRandom", "CNghttp2",
  ])

let package = Package(
  name: "parley",
  products: [
    .executable(name: "parley", targets: ["parley"]),
    .executable(name: "parley-auth", targets: ["parley-auth"]),
    .executable(name: "parley-onboarding", targets: ["parley-onboarding"]),
    .executable(name: "parley-sandbox", targets: ["parley-sandbox"]),
    .executable(name: "protoc-gen-parley", targets: ["protoc-gen-parley"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser.git", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log.git", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics.git", exact: "2.13.0"),
  ],
  targets: [
    // C
    library("CNghttp2", pkgConfig: "libnghttp2", apt: "libnghttp2-dev"),
    library("COpenSSL", pkgConfig: "openssl", apt: "libssl-dev"),
    library("CProtobufC", pkgConfig: "libprotobuf-c", apt: "libprotobuf-c-dev"),
    library("CPostgreSQL", pkgConfig: "libpq", apt: "libpq-dev"),
    library("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
    library("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
    .target(name: "CShims", path: "Sources/C/CShims"),

    // Runtime
    floor("Runtime/Buffers", "Buffers"),
    floor("Runtime/JSON", "JSON"),
    floor("Runtime/EventLoop", "EventLoop", ["CShims"]),
    floor("Runtime/MessagesCore", "MessagesCore", ["Buffers", "JSON"], exclude: ["README.md"]),
    floor(
      "Runtime/MessagesWire", "MessagesWire", ["Buffers", "MessagesCore", "CProtobufC", "CShims"], exclude: ["README.md"]),
    floor("Runtime/HTTP2", "HTTP2", ["Buffers", "EventLoop", "CNghttp2", "COpenSSL", "CShims"], exclude: ["README.md"]),
    floor("Runtime/RPC", "RPC", ["MessagesCore"]),
    floor("Runtime/Compression", "Compression", ["Buffers", "RPC", "CZlib"]),
    floor("Runtime/ConnectWire", "ConnectWire", ["JSON", "MessagesCore", "RPC", "WellKnown"]),
    floor("Runtime/WellKnown", "WellKnown", ["MessagesCore", "RPC"], and: unspecialized),
    floor(
      "Runtime/DynamicMessages", "DynamicMessages", ["MessagesCore", "MessagesWire", "WellKnown"], exclude: ["README.md"]),
    floor(
      "Runtime/RPCWire", "RPCWire",
      [
        "Buffers", "Compression", "ConnectWire", "EventLoop", "HTTP2", "JSON", "MessagesCore", "MessagesWire", "RPC", "WellKnown",
      ]),
    floor(
      "Runtime/RPCServer", "RPCServer",
      [
        "Buffers", "RPCWire", "Compression", "ConnectWire", "EventLoop", "HTTP2", "JSON", "MessagesCore", "MessagesWire", "RPC",
        "WellKnown", "CShims", log,
      ],
      exclude: ["README.md"]),
    floor(
      "Runtime/RPCClient", "RPCClient",
      [
        "Buffers", "RPCWire", "Compression", "ConnectWire", "EventLoop", "HTTP2", "JSON", "MessagesCore", "MessagesWire", "RPC",
        "WellKnown", "CShims", log,
      ], exclude: ["README.md"]),
    floor("Runtime/RPCInProcess", "RPCInProcess", ["MessagesCore", "RPC"]),

    // Platform
    floor("Platform/Values", "Values"),
    floor("Platform/ErrorReasons", "ErrorReasons", ["RPC"]),
    floor("Platform/JOSE", "JOSE", ["JSON", "COpenSSL"], exclude: ["README.md"]),
    floor("Platform/Outbound", "Outbound", ["EventLoop", "CCurl", log], exclude: ["README.md"]),
    floor("Platform/Multipart", "Multipart", exclude: ["README.md"]),
    floor("Platform/Subprocess", "Subprocess", ["EventLoop", "CShims"], exclude: ["README.md"]),
    floor("Platform/Audio", "Audio", ["EventLoop", "JOSE", "JSON", "Subprocess"], exclude: ["README.md"]),
    floor(
      "Platform/PostgreSQL", "PostgreSQL", ["EventLoop", "CPostgreSQL", "CShims", "COpenSSL", "Values", log],
      exclude: ["README.md"]),
    floor("Platform/Idempotency", "Idempotency", ["EventLoop", "PostgreSQL", "Values"], exclude: ["README.md"]),
    floor("Platform/Limits", "Limits", ["EventLoop", "PostgreSQL", "Values"], exclude: ["README.md"]),
    floor("Platform/Pages", "Pages", ["JOSE", "PostgreSQL"], exclude: ["README.md"]),
    floor(
      "Platform/Telemetry", "Telemetry",
      ["JSON", "EventLoop", "MessagesCore", "RPC", "RPCClient", "WellKnown", log, metricsCore], exclude: ["README.md"]),
    floor(
      "Platform/ServiceKit", "ServiceKit",
      [
        "EventLoop", "HTTP2", "RPC", "RPCServer", "RPCClient", "RPCWire", "WellKnown", "MessagesCore", "MessagesWire", "JSON",
        "PostgreSQL", "Idempotency", "Limits", "Outbound", "Telemetry", "JOSE", "ErrorReasons", "CShims", "CNghttp2", "COpenSSL",
        "CPostgreSQL", "CCurl", "Values", log, metrics, arguments,
      ], exclude: ["README.md"]),

    floor(
      "Platform/Blobs", "Blobs", ["EventLoop", "JOSE", "Outbound", "PostgreSQL", "RPC", "ServiceKit", "Values"],
      exclude: ["README.md"]),
    floor(
      "Platform/Jobs", "Jobs", ["EventLoop", "PostgreSQL", "ServiceKit", "Telemetry", "Values", log],
      exclude: ["README.md"]),

    // API and providers
    floor("API", "ParleyAPI", ["MessagesCore", "RPC", "WellKnown"], exclude: ["README.md"]),
    floor("Providers/OpenID", "OpenID", ["EventLoop", "JOSE", "JSON", "Outbound", "Telemetry", log], exclude: ["README.md"]),
    floor(
      "Providers/Apple", "AppleProvider", ["OpenID", "EventLoop", "JOSE", "JSON", "Outbound", "RPC", log], exclude: ["README.md"]),
    floor(
      "Providers/Google", "GoogleProvider", ["OpenID", "EventLoop", "JOSE", "JSON", "MessagesCore", "Outbound", "RPC", log],
      exclude: ["README.md"]),
    floor(
      "Providers/Parley", "ParleyProvider",
      [
        "OpenID", "ParleyAPI", "ServiceKit", "EventLoop", "HTTP2", "JOSE", "Jobs", "MessagesCore", "Outbound", "Pages",
        "PostgreSQL",
        "RPC",
        "RPCClient",
        "Telemetry", "WellKnown", "Values", log,
      ], exclude: ["README.md"]),

    floor(
      "Providers/RevenueCat", "RevenueCatProvider", ["OpenID", "EventLoop", "JSON", "MessagesCore", "Outbound", "RPC", log],
      exclude: ["README.md"]),
    floor(
      "Providers/OpenAI", "OpenAIProvider", ["OpenID", "EventLoop", "JSON", "Multipart", "Outbound"], exclude: ["README.md"]),
    floor(
      "Providers/ElevenLabs", "ElevenLabsProvider", ["OpenID", "EventLoop", "JSON", "Multipart", "Outbound", "RPC"],
      exclude: ["README.md"]),

    // Services
    floor("Services/Auth/Domain", "AuthDomain", ["Values"]),
    floor(
      "Services/Auth/Store", "AuthStore",
      ["AuthDomain", "EventLoop", "Idempotency", "Jobs", "Limits", "Pages", "PostgreSQL", "Values"]),
    floor(
      "Services/Auth/API", "AuthAPI",
      [
        "AuthDomain", "AuthStore", "ParleyAPI", "ParleyProvider", "OpenID", "AppleProvider", "GoogleProvider",
        "RevenueCatProvider", "ServiceKit",
        "EventLoop", "Jobs", "RPC", "RPCServer", "MessagesCore",
        "WellKnown", "JSON", "JOSE", "Limits", "Outbound", "Pages", "PostgreSQL", "Telemetry", "ErrorReasons", "Values", log,
      ]),

    floor("Services/Onboarding/Domain", "OnboardingDomain"),
    floor(
      "Services/Onboarding/Store", "OnboardingStore",
      ["OnboardingDomain", "Idempotency", "Jobs", "Limits", "Pages", "PostgreSQL", "Values"]),
    floor(
      "Services/Onboarding/API", "OnboardingAPI",
      [
        "OnboardingDomain", "OnboardingStore", "ParleyAPI", "ParleyProvider", "OpenAIProvider", "ElevenLabsProvider", "OpenID",
        "Audio", "Blobs", "Multipart", "ServiceKit", "ErrorReasons", "EventLoop", "Idempotency", "Jobs", "JOSE", "JSON", "Limits",
        "MessagesCore", "Outbound", "Pages", "PostgreSQL", "RPC", "RPCServer", "Telemetry", "WellKnown", "Values", log,
      ]),

    // Client library
    floor(
      "Client/ClientCore", "ClientCore",
      ["ParleyAPI", "ErrorReasons", "ConnectWire", "JSON", "MessagesCore", "RPC", "WellKnown"]),

    // Executables
    executable("parley-auth", at: "Sources/Executables/parley-auth", ["AuthAPI", "ServiceKit"]),
    executable("parley-onboarding", at: "Sources/Executables/parley-onboarding", ["OnboardingAPI", "ServiceKit"]),
    executable(
      "parley", at: "Sources/Executables/parley",
      [
        "ClientCore", "ParleyAPI", "DynamicMessages", "RPCClient", "RPC", "EventLoop", "HTTP2", "MessagesCore", "MessagesWire",
        "WellKnown",
        "JOSE", "JSON", "Outbound", "PostgreSQL", arguments, log,
      ], exclude: ["README.md"]),
    executable(
      "parley-sandbox", at: "Sources/Executables/parley-sandbox",
      [
        "Blobs", "EventLoop", "HTTP2", "MessagesCore", "RPC", "RPCServer", "JOSE", "JSON", "Multipart", "Outbound", "PostgreSQL",
        "Values",
        arguments,
      ], exclude: ["README.md"]),
    executable(
      "protoc-gen-parley", at: "Sources/Executables/protoc-gen-parley",
      ["MessagesCore", "MessagesWire", "WellKnown"]),

    // Tests
    .target(
      name: "TestAPI", dependencies: ["MessagesCore", "RPC", "WellKnown", "ParleyAPI"], path: "Tests/Support/TestAPI",
      swiftSettings: settings),
    .target(
      name: "JudgeAPI", dependencies: ["MessagesCore", "RPC", "WellKnown"], path: "Tests/Support/JudgeAPI",
      swiftSettings: settings),
    .target(name: "TestRandom", path: "Tests/Support/TestRandom", swiftSettings: settings),
    .target(
      name: "TestSupport",
      dependencies: [
        "TestAPI", "EventLoop", "HTTP2", "RPC", "RPCServer", "RPCClient", "MessagesCore", "MessagesWire", "JSON", "PostgreSQL",
        "CNghttp2", "COpenSSL", "CShims", "Values", log,
      ], path: "Tests/Support/TestSupport", swiftSettings: settings),
    .target(
      name: "DemoService",
      dependencies: [
        "ParleyAPI", "ParleyProvider", "ServiceKit", "TestAPI", "EventLoop", "Idempotency", "Limits", "MessagesCore",
        "PostgreSQL", "RPC", "RPCServer", "Values",
      ],
      path: "Tests/Support/DemoService",
      swiftSettings: settings),
    .target(
      name: "ScriptedOnboarding",
      dependencies: ["ParleyAPI", "EventLoop", "HTTP2", "MessagesCore", "RPC", "RPCServer", "WellKnown"],
      path: "Tests/Support/ScriptedOnboarding", swiftSettings: settings),
    .target(
      name: "TestParley",
      dependencies: [
        "AuthAPI", "AuthDomain", "AuthStore", "EventLoop", "HTTP2", "JOSE", "JSON", "MessagesCore", "ParleyAPI", "PostgreSQL",
        "RPC",
        "RPCClient", "RPCServer", "ServiceKit", "TestSupport", "WellKnown", log,
      ], path: "Tests/Support/TestParley", swiftSettings: settings),
    .target(
      name: "TestSandbox", dependencies: ["EventLoop", "JSON", "OpenID", "Outbound", "TestSupport"],
      path: "Tests/Support/TestSandbox", swiftSettings: settings),
    executable("demo-service", at: "Tests/Support/demo-service", ["DemoService", "ServiceKit"]),
    // What `make chaos` writes to.
    executable(
      "ledger-service", at: "Tests/Chaos/ledger-service", ["TestAPI", "EventLoop", "PostgreSQL", "RPC", "ServiceKit", "Values"]),
    executable("job-worker", at: "Tests/Chaos/job-worker", ["EventLoop", "Jobs", "PostgreSQL", "Telemetry", log]),
    executable(
      "bench-server", at: "Tests/Benchmarks/Server",
      ["TestAPI", "EventLoop", "HTTP2", "RPC", "RPCServer", "MessagesCore", "PostgreSQL", "Telemetry", log, metrics]),
    executable(
      "bench-session-server", at: "Tests/Benchmarks/SessionServer",
      [
        "TestAPI", "ParleyProvider", "OpenID", "ServiceKit", "EventLoop", "HTTP2", "JOSE", "JSON", "Outbound", "PostgreSQL",
        "RPC",
        "RPCServer", "Telemetry", "Values", log,
      ]),
    executable(
      "bench-onboarding", at: "Tests/Benchmarks/Onboarding",
      [
        "EventLoop", "JOSE", "JSON", "MessagesCore", "OnboardingAPI", "ParleyAPI", "RPC", "RPCClient", "TestParley",
        "TestSupport",
        "WellKnown",
      ]),
    executable(
      "bench-calls", at: "Tests/Benchmarks/Calls",
      [
        "AuthAPI", "EventLoop", "JOSE", "JSON", "MessagesCore", "OnboardingAPI", "ParleyAPI", "PostgreSQL", "RPC", "RPCClient",
        "TestParley", "TestSandbox", "TestSupport", "WellKnown",
      ]),
    executable("bench-jobs", at: "Tests/Benchmarks/Jobs", ["EventLoop", "Jobs", "PostgreSQL", "Telemetry", log]),
    // What the public judges run: `make adapters` builds them in release.
    .target(
      name: "JudgedServer", dependencies: ["RPCServer"], path: "Tests/Adapters/JudgedServer", swiftSettings: settings),
    executable("interop-server", at: "Tests/Adapters/interop-server", adapter + ["JudgedServer", "RPCServer"]),
    executable("interop-client", at: "Tests/Adapters/interop-client", adapter + ["RPCClient"]),
    .target(
      name: "ConnectConformance",
      dependencies: ["JudgeAPI", "MessagesCore", "MessagesWire", "RPC", "RPCWire", "WellKnown", "HTTP2"],
      path: "Tests/Adapters/ConnectConformance", swiftSettings: settings),
    executable(
      "connect-conformance-server", at: "Tests/Adapters/connect-conformance-server",
      adapter + ["ConnectConformance", "JudgedServer", "RPCServer"]),
    executable(
      "connect-conformance-client", at: "Tests/Adapters/connect-conformance-client",
      adapter + ["ConnectConformance", "RPCClient"]),
    executable(
      "protobuf-testee", at: "Tests/Adapters/protobuf-testee", ["JudgeAPI", "MessagesCore", "MessagesWire", "WellKnown"]),
    executable("jose-testee", at: "Tests/Adapters/jose-testee", ["JOSE", "JSON"]),
    tests("House/HouseTests", []),
    tests("Runtime/EventLoopTests", ["EventLoop", "TestSupport"]),
    tests("Runtime/JSONTests", ["JSON", "TestRandom"]),
    tests(
      "Runtime/MessagesTests",
      ["Buffers", "MessagesCore", "MessagesWire", "WellKnown", "TestAPI", "TestRandom", "JudgeAPI", "JSON", "protoc-gen-parley"]),
    tests(
      "Runtime/HTTP2Tests",
      ["Buffers", "HTTP2", "EventLoop", "RPC", "RPCServer", "TestSupport", "COpenSSL", "CNghttp2", "CShims"]),
    tests(
      "Runtime/DynamicMessagesTests",
      ["DynamicMessages", "Buffers", "JSON", "MessagesCore", "MessagesWire", "WellKnown", "TestAPI"]),
    tests(
      "Runtime/RPCTests",
      [
        "RPC", "RPCServer", "RPCClient", "HTTP2", "EventLoop", "MessagesCore", "MessagesWire", "WellKnown", "TestAPI",
        "TestSupport", "Buffers", "Compression", "JSON",
        log,
      ]),
    tests(
      "Runtime/ClientTests",
      [
        "RPC", "RPCServer", "RPCClient", "RPCInProcess", "HTTP2", "EventLoop", "MessagesCore", "WellKnown", "TestAPI",
        "TestSupport",
      ]),
    tests(
      "Runtime/WireTests",
      ["Buffers", "Compression", "ConnectWire", "JSON", "RPC", "RPCWire", "MessagesCore", "WellKnown", "TestSupport"]),
    tests(
      "Client/ClientCoreTests",
      [
        "ClientCore", "ParleyAPI", "ConnectWire", "JSON", "MessagesCore", "RPC", "RPCInProcess", "RPCServer", "RPCClient",
        "EventLoop", "ScriptedOnboarding",
        "WellKnown", "TestAPI", "TestSupport",
      ]),
    .testTarget(
      name: "HostileTests",
      dependencies: [
        "Buffers", "Compression", "EventLoop", "HTTP2", "RPC", "RPCClient", "RPCServer", "Telemetry", "TestAPI", "TestSupport",
        "COpenSSL", "CShims",
      ], path: "Tests/Hostile", swiftSettings: settings),
    tests("Platform/JOSETests", ["JOSE", "JSON"]),
    tests(
      "Platform/BlobsTests", ["Blobs", "EventLoop", "JOSE", "Outbound", "PostgreSQL", "ServiceKit", "TestSupport", "Values"]),
    tests("Platform/MultipartTests", ["Multipart", "TestRandom"]),
    tests("Platform/SubprocessTests", ["Subprocess", "EventLoop", "TestSupport"]),
    tests("Platform/AudioTests", ["Audio", "EventLoop", "Subprocess", "TestRandom", "TestSandbox", "TestSupport"]),
    tests("Platform/OutboundTests", ["Outbound", "EventLoop", "HTTP2", "RPC", "RPCServer", "TestSupport", log]),
    tests(
      "Platform/JobsTests",
      ["EventLoop", "Jobs", "PostgreSQL", "ServiceKit", "Telemetry", "TestSupport", "Values", log]),
    tests("Platform/LimitsTests", ["Limits", "PostgreSQL", "EventLoop", "TestSupport", "Values", log]),
    tests("Platform/PostgreSQLTests", ["PostgreSQL", "EventLoop", "TestSupport", "Values", log]),
    tests(
      "Platform/TelemetryTests",
      [
        "Telemetry", "EventLoop", "MessagesCore", "RPC", "RPCClient", "RPCServer", "WellKnown", "TestAPI", "TestSupport", "JSON",
        log, metrics,
      ]),
    tests(
      "Platform/ServiceKitTests",
      [
        "ServiceKit", "DemoService", "demo-service", "EventLoop", "HTTP2", "RPC", "RPCServer", "RPCClient", "MessagesCore",
        "MessagesWire", "Idempotency", "Limits",
        "WellKnown",
        "Outbound", "PostgreSQL", "JOSE", "JSON", "Telemetry", "ErrorReasons", "TestAPI", "TestRandom", "TestSupport", "Values",
        log,
      ]),
    tests(
      "Services/AuthTests",
      [
        "AuthDomain", "AuthStore", "AuthAPI", "ParleyAPI", "OpenID", "AppleProvider", "GoogleProvider", "RevenueCatProvider",
        "ServiceKit", "EventLoop", "RPC", "RPCServer", "RPCClient", "PostgreSQL", "Outbound", "JOSE", "JSON", "MessagesCore",
        "HTTP2",
        "WellKnown",
        "Limits", "Telemetry", "Jobs", "Pages", "TestSupport", "TestParley", "TestRandom", "DemoService", "ParleyProvider",
        "TestAPI", "Values", log,
      ]),
    tests(
      "Services/OnboardingTests",
      [
        "OnboardingDomain", "OnboardingStore", "OnboardingAPI", "Audio", "Blobs", "AuthDomain", "ParleyAPI", "ServiceKit",
        "EventLoop", "ClientCore",
        "HTTP2",
        "RPC", "RPCClient",
        "RPCServer", "PostgreSQL", "Outbound", "JOSE", "JSON", "MessagesCore", "WellKnown", "Jobs", "TestParley", "TestSandbox",
        "TestSupport", "TestRandom", "parley-onboarding", "parley-sandbox", "Values", log,
      ]),
    tests(
      "Providers/ParleyTests",
      [
        "OnboardingAPI", "ParleyProvider", "ParleyAPI", "TestParley", "DemoService", "AuthAPI", "AuthDomain", "EventLoop",
        "HTTP2", "JOSE",
        "MessagesCore", "MessagesWire", "OpenID", "Outbound", "PostgreSQL", "RPC", "RPCClient",
        "ServiceKit", "TestAPI", "WellKnown", "TestSupport", log,
      ]),
    tests(
      "Providers/OpenAITests",
      ["OpenAIProvider", "OpenID", "JOSE", "JSON", "Multipart", "Outbound", "TestSandbox", "parley-sandbox"]),
    tests("Providers/ElevenLabsTests", ["ElevenLabsProvider", "OpenID", "JSON", "Outbound", "TestSandbox", "parley-sandbox"]),
    tests(
      "Executables/ToolTests",
      [
        "parley", "parley-sandbox", "ClientCore", "ScriptedOnboarding", "AppleProvider", "AuthAPI", "AuthDomain", "AuthStore",
        "Blobs",
        "OpenID", "JOSE", "JSON",
        "Jobs", "Pages", "ParleyProvider", "TestAPI", "TestSupport", "DynamicMessages", "EventLoop", "HTTP2", "PostgreSQL",
        "RPCClient",
        "ServiceKit", "Telemetry",
        "MessagesCore", "MessagesWire", "Outbound", "ParleyAPI", "RPC", "RPCServer", "WellKnown", "Values", log,
      ]),
  ] + (isFuzzing ? [fuzzer] : [])
)

// `PARLEY_TESTS=RPCTests,HTTP2Tests` (`make test TARGETS=...`) leaves out what those suites do not need, so that a change is tried
// without building all that depends on it.
if let named = Context.environment["PARLEY_TESTS"], !named.isEmpty {
  let byName = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
  var kept: Set<String> = []
  var pending = named.split(separator: ",").map(String.init)
  while let name = pending.popLast() {
    guard let target = byName[name] else { continue }
    guard kept.insert(name).inserted else { continue }
    for dependency in target.dependencies {
      switch dependency {
      case .targetItem(let name, _), .byNameItem(let name, _): pending.append(name)
      default: break
      }
    }
  }
  package.targets.removeAll { !kept.contains($0.name) }
  package.products.removeAll { !kept.contains($0.name) }
}
