"""Sequences with the same dinucleotides in another order (Altschul & Erickson 1985).

A sequence is a walk over the edges of a graph whose nodes are bases and whose edges are dinucleotides. Any
other walk over all edges from the same first base has the same dinucleotide counts, and ends in the same
base. Such walks are drawn evenly: the last edge out of each base is drawn as a random spanning tree
towards the last base, the others are in random order before it.

The packages for this seed a global generator (ushuffle) or read one-hot tensors (tangermeme); dinuc-shuf is a
first version.
"""

import itertools
from collections.abc import Mapping

import numpy as np


def shuffle_dinucleotides(sequence: str, rng: np.random.Generator) -> str:
    """Return a random sequence with the same dinucleotide counts and the same first and last letter.

    Example:
        >>> shuffle_dinucleotides("AAAA", np.random.default_rng(0))
        'AAAA'
    """
    if len(sequence) < 3:
        return sequence
    followers: dict[str, list[str]] = {}
    for base, following in itertools.pairwise(sequence):
        followers.setdefault(base, []).append(following)
    last = _last_edges(followers, sequence[-1], rng)
    for base, following in followers.items():
        if base in last:
            following.remove(last[base])
        rng.shuffle(following)
        if base in last:
            following.append(last[base])
    walk = [sequence[0]]
    position = dict.fromkeys(followers, 0)
    for _ in range(len(sequence) - 1):
        base = walk[-1]
        walk.append(followers[base][position[base]])
        position[base] += 1
    return "".join(walk)


def _last_edges(
    followers: Mapping[str, list[str]], end: str, rng: np.random.Generator
) -> dict[str, str]:
    """Return the edge by which each base but `end` is left for the last time."""
    # They form a spanning tree towards `end`, drawn with the probability that the numbers of edges
    # give (random walks without their loops: Wilson 1996).
    last: dict[str, str] = {}
    in_tree = {end}
    for start in followers:
        base = start
        while base not in in_tree:  # a later visit overwrites: that cuts loops out
            last[base] = followers[base][rng.integers(len(followers[base]))]
            base = last[base]
        base = start
        while base not in in_tree:
            in_tree.add(base)
            base = last[base]
    return last
