"""The proofs of the BigBird paper as programs: exact checks, and what can only be illustrated.

Section 3 and Appendices A to C of the paper (arXiv 2007.14062), docs/explanation/theory.md. `turing/`,
`theory_furthest` and `theory_mapping` compute with fractions or whole numbers and load no torch.
"""
