import ArgumentParser
import EventLoop

// Before any other thread exists, so that all of them leave the signals to `InteropServer`.
TerminationSignals.hold()
InteropServer.main()
