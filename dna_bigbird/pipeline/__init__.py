"""What each command does, as a function with the names and defaults of its options."""
