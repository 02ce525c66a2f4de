import ArgumentParser

InteropClient.main()
