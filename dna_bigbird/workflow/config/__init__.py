"""The config of a run of the workflow: its files with line numbers, and what is wrong in them."""
