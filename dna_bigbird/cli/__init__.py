"""The command line: one small module per subcommand, and nothing else parses arguments."""
