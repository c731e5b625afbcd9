"""Patterns of attention as graphs: paths, clustering, spectra (paper §2).

A pattern is a graph of blocks whose tokens are twins, so that every number for tokens follows from
the blocks; `block_graph.BlockGraph` with one token per block is a graph of tokens.
"""
