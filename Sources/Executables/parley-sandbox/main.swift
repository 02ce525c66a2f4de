import ArgumentParser

// Before any other thread exists, so that all of them leave the signals to `serve`.
TerminationSignal.block()
SandboxCommand.main()
