"""Motif files: JASPAR and MEME by hand, the package's JASPAR matrices, and what is wrong with a file."""

from importlib import resources

import numpy as np
import pytest

from dna_bigbird.demo.motifs import load_motifs
from dna_bigbird.errors import InputError
from dna_bigbird.genome.motif_files import read_motifs

JASPAR = """>MA0.1	ONE
A  [ 8 0 1 ]
C  [ 0 0 3 ]
G  [ 0 4 4 ]
T  [ 0 4 0 ]
>MA0.2
A [1 1]
C [0 0]
G [0 0]
T [1 3]
"""
MEME = """MEME version 4

ALPHABET= ACGT

strands: + -

Background letter frequencies
A 0.25 C 0.25 G 0.25 T 0.25

MOTIF MA0.1 ONE
letter-probability matrix: alength= 4 w= 3 nsites= 8 E= 0
 1.000000  0.000000  0.000000  0.000000
 0.000000  0.000000  0.500000  0.500000
 0.125000  0.375000  0.500000  0.000000
URL http://example.org/MA0.1

MOTIF MA0.2
letter-probability matrix: alength= 4 w= 2
0.5 0 0 0.5
0.25 0 0 0.75
"""


def written(folder, text, name="motifs.txt"):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", [JASPAR, MEME], ids=["jaspar", "meme"])
def test_both_formats_give_the_same_matrices(text, tmp_path):
    first, second = read_motifs(written(tmp_path, text))
    assert (first.identifier, first.name, first.label) == ("MA0.1", "ONE", "ONE MA0.1")
    assert (second.identifier, second.name, second.label) == ("MA0.2", "", "MA0.2")
    columns = [[1, 0, 0, 0], [0, 0, 0.5, 0.5], [0.125, 0.375, 0.5, 0]]
    np.testing.assert_allclose(first.shares.T, columns)
    assert (first.consensus, first.width) == ("AGG", 3)
    assert second.consensus == "AT"


def test_the_matrices_of_the_package(tmp_path):
    text = (resources.files("dna_bigbird.demo") / "data/jaspar_selection.jaspar").read_text()
    by_id = {motif.identifier: motif for motif in read_motifs(written(tmp_path, text))}
    for motif in load_motifs().values():
        np.testing.assert_allclose(by_id[motif.matrix_id].shares, motif.probabilities)
    assert by_id["MA0108.2"].consensus[1:6] == "TATAA"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"motifs\.txt:1: starts with 'nothing'; expected '>ID NAME' \(JASPAR\) or 'MEME"),
        ("chr1\t5\t10\n", r":1: starts with .*; expected '>ID NAME'"),
        (JASPAR.replace("C  [ 0 0 3 ]", "C  [ 0 0 ]"), r":1: MA0\.1 has rows of 3, 2, 3, 3 numbers"),
        (JASPAR.replace("T [1 3]\n", ""), r":6: MA0\.2 has rows of 2, 2, 2 numbers for ACG"),
        (JASPAR.replace("A  [ 8 0 1 ]", "A  [ 8 x 1 ]"), r":2: '8 x 1'; expected numbers from 0"),
        (JASPAR.replace("A  [ 8", "A  [ -8"), r":2: '-8 0 1'; expected numbers from 0"),
        (JASPAR.replace("G  [", "U  ["), r":4: 'U  \[ 0 4 4 \]'; expected a base and its counts"),
        (JASPAR.replace("MA0.2", "MA0.1"), r":6: a second matrix MA0\.1"),
        (JASPAR.replace("[1 1]", "[0 1]").replace("[1 3]", "[0 3]"), r":6: MA0\.2 has a column without"),
        (">\nA [1]\n", r":1: a matrix without an identifier"),
        (MEME.replace("ALPHABET= ACGT", "ALPHABET= ACGU"), r":3: alphabet ACGU; expected ACGT"),
        (MEME.replace("alength= 4 w= 3", "alength= 20 w= 3"), r":11: .*expected alength= 4 and w="),
        (MEME.replace("w= 3", "w= 4"), r":15: 'URL http.*expected numbers"),
        (MEME.replace("0.25 0 0 0.75", "0.25 0 0 0.5"), r":20: '0\.25 0 0 0\.5'; expected four prob"),
        (MEME.replace("0.25 0 0 0.75\n", ""), r"motifs\.txt: ends within a matrix"),
        (MEME.replace("MOTIF MA0.2\n", ""), r":17: a matrix without a line 'MOTIF ID'"),
        ("MEME version 4\nMOTIF X\n", r":2: X has no 'letter-probability matrix'"),
        (MEME.replace("MOTIF MA0.2\n", "MOTIF X\nMOTIF MA0.2\n"), r":17: X has no 'letter-probability matrix'"),
        (MEME.replace("w= 3", "w= 2"), r":14: '.*', one column more than w= says; correct w="),
        ("MEME version 4\n", r"motifs\.txt: no matrix in it"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(text, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read_motifs(written(tmp_path, text))
