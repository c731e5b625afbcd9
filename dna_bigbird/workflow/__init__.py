"""A run of the workflow: its checked config as the files, models and options that the rules name."""
