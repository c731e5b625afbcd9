"""Variants of a VCF file: which alleles can be scored, their windows, effects and files."""
