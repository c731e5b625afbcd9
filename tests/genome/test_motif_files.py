"""Motif files: JASPAR and MEME by hand, the package's JASPAR matrices, and what is wrong with a file."""

from importlib import resources

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.motif_files import read_motifs
from dna_bigbird.genome.motifs import load_motifs

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


PLAIN = MEME.replace(" alength= 4 w= 3 nsites= 8 E= 0", "").replace(" alength= 4 w= 2", "")
"""No sizes in the headers."""
DNA = """A "Adenine" CC0000 ~ T "Thymine = U" 0000CC
C "Cytosine" 0000CC ~ G "Guanine" FFB300 # a comment
N "Any" = ACGT
X = ACGT
U = T
END ALPHABET"""
LOG_ODDS = (
    "log-odds matrix: alength= 4 w= 3 n= 100 bayes= 5\n 2 -9 -9 -9\n -9 -9 1 1\n -1 0.5 1 -9\n"
)
VARIANTS = {
    "no sizes": PLAIN,
    "no letters in the header": MEME.replace("alength= 4 ", ""),
    "no blanks": MEME.replace("= ", "="),
    "no strands, background and alphabet": "MEME version 4\n" + PLAIN[PLAIN.index("MOTIF") :],
    "background on four lines": MEME.replace("C 0.25 G 0.25 T 0.25", "\nC 0.25\nG 0.25\nT 0.25"),
    "blank lines and comments": PLAIN.replace("0\n", "0\n\n# x\n"),
    "tabs, indents, Windows": PLAIN.replace("  ", "\t")
    .replace("0.5 0 0", "\t 0.5\t0\t0")
    .replace("\n", "\r\n"),
    "a defined alphabet": MEME.replace("= ACGT", f' "DNA" DNA-LIKE\n{DNA}'),
    "log-odds before": PLAIN.replace("ONE\n", f"ONE\n{LOG_ODDS}"),
    "log-odds after": PLAIN.replace("0.000000\nURL", f"0.000000\n{LOG_ODDS}URL"),
    "exponents": PLAIN.replace("0.125000", "1.25e-1").replace("0.25 0", ".25 0e0"),
    "address before the matrix": PLAIN.replace("MA0.2\n", "MA0.2\nURL http://x.org/1 2 3 4\n"),
    "joined files": PLAIN.replace("MOTIF MA0.2", PLAIN[: PLAIN.index("MOTIF")] + "MOTIF MA0.2"),
    "output of MEME": "*****\nMEME - Motif discovery tool\n*****\n"
    + MEME.replace("ONE\n", "ONE\twidth =   3  sites =   8\n-----\n").replace(
        "URL", "-----\nTime 0.50 secs.\nURL"
    ),
    "no line end": PLAIN.rstrip(),
}


def written(folder, text, name="motifs.txt"):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text", [JASPAR, MEME, *VARIANTS.values()], ids=["jaspar", "meme", *VARIANTS]
)
def test_both_formats_give_the_same_matrices(text, tmp_path):
    first, second = read_motifs(written(tmp_path, text))
    assert (first.identifier, first.name, first.label) == ("MA0.1", "ONE", "ONE MA0.1")
    assert (second.identifier, second.name, second.label) == ("MA0.2", "", "MA0.2")
    columns = [[1, 0, 0, 0], [0, 0, 0.5, 0.5], [0.125, 0.375, 0.5, 0]]
    np.testing.assert_allclose(first.shares.T, columns)
    assert (first.consensus, first.width) == ("AGG", 3)
    assert second.consensus == "AT"


def test_the_matrices_of_the_package(tmp_path):
    text = (resources.files("dna_bigbird.genome") / "data/jaspar_selection.jaspar").read_text()
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
        (MEME.replace("ALPHABET= ACGT", "ALPHABET= ACGU"), r":3: the alphabet is RNA, ACGU; expected DNA"),
        (MEME.replace("ACGT\n", "ACDEFGHIKLMNPQRSTVWY\n"), r":3: the alphabet is protein, ACDE"),
        (MEME.replace("= ACGT", ' "mine" DNA-LIKE\n' + DNA.replace("X =", "m ~ 1\nX =")), r":3: the alphabet is 1 A C G T m;"),
        (MEME.replace("= ACGT", ' "mine" RNA-LIKE\n' + DNA.replace("~ T", "~ U")), r":3: the alphabet is RNA, A C G U;"),
        (MEME.replace("= ACGT", ' "DNA"\n' + DNA.replace("END", "")), r":3: an alphabet without .* END ALPHABET"),
        (MEME.replace("alength= 4 w= 3", "alength= 20 w= 3"), r":11: .*expected alength= 4"),
        (MEME.replace("w= 3", "w= 4"), r":11: .* w= 4 .*and 3 rows of numbers"),
        (MEME.replace("0.25 0 0 0.75", "0.25 0 0 0.5"), r":20: '0\.25 0 0 0\.5'; expected four prob"),
        (MEME.replace("0.25 0 0 0.75\n", ""), r":18: .* and 1 rows of numbers; .* Is the file complete"),
        (MEME.replace("MOTIF MA0.2\n", ""), r":17: a matrix without a line 'MOTIF ID'"),
        ("MEME version 4\nMOTIF X\n", r":2: X has no 'letter-probability matrix'"),
        (MEME.replace("MOTIF MA0.2\n", "MOTIF X\nMOTIF MA0.2\n"), r":17: X has no 'letter-probability matrix'"),
        (MEME.replace("w= 3", "w= 2"), r":11: .* w= 2 .*and 3 rows of numbers"),
        (PLAIN.replace("0.25 0 0 0.75", "x 0 0 0.75"), r":20: 'x 0 0 0\.75'; expected numbers"),
        (PLAIN.replace("0.25 0 0 0.75", "0.25 0 0,75"), r":20: '0\.25 0 0,75'; expected numbers"),
        (PLAIN.replace("0.25 0 0 0.75", "0.25 0 0.75"), r":20: '0\.25 0 0\.75'; expected four prob"),
        (PLAIN.replace("0.25 0 0 0.75", " ".join(["0.05"] * 20)), r":20: .*expected four prob"),
        (PLAIN[:-28], r":18: .* and 0 rows of numbers"),
        (MEME.replace("letter-probability matrix: alength= 4 w= 2", "log-odds matrix: alength= 4 w= 2"), r":17: MA0\.2 has no"),
        ("MEME version 4\n", r"motifs\.txt: no matrix in it"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(text, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read_motifs(written(tmp_path, text))
