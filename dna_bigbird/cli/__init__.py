"""The command line: a table of commands, their options, help and errors; no other folder parses arguments."""
