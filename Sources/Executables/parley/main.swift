import ArgumentParser

await run()

/// In an async function the asynchronous `main` is meant.
private func run() async { await ParleyCommand.main() }
