import ArgumentParser

SandboxCommand.main()
