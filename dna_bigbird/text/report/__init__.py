"""The report of the text tasks."""
