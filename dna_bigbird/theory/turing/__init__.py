"""A Turing machine run by a decoder with at most two attention edges per position (Appendix B)."""
