"""Motifs in attributed windows: patterns, their names, and the files of a run."""
