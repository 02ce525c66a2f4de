await ParleyCommand.main()
