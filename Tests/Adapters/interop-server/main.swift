import ArgumentParser

// Before any other thread exists, so that all of them leave the signals to `InteropServer`.
TerminationSignal.block()
InteropServer.main()
