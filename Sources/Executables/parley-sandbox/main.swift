import ArgumentParser

// Before any other thread exists, so that all of them leave the signals to `serve`.
TerminationSignal.block()
await run()

/// In an async function the asynchronous `main` is meant.
private func run() async { await SandboxCommand.main() }
