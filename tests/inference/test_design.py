"""`design`: the search against brute force with scorers in closed form, and the command's files and messages."""

import csv
import itertools
import re
from collections import Counter

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from dna_bigbird import design, predict
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.genome.motif_files import LETTERS
from dna_bigbird.prediction.design_search import Goal, KmerContent, Limits, search
from tests.tiny_bundle import draw_dna, write_tiny_bundle

LENGTH = 9
RNG = np.random.default_rng(3)
SINGLE = RNG.normal(size=(LENGTH, 4, 2))
PAIRS = RNG.normal(size=(LENGTH, 4, LENGTH, 4, 2))
"""Of every two bases, so that the best two substitutions are not the two best ones."""
START = "ACGGTCATA"


def score(texts):
    """Log odds of two labels: weights of every base and of every pair."""
    rows = []
    for text in texts:
        codes = [LETTERS.index(base) for base in text]
        places = np.arange(LENGTH)
        pairs = PAIRS[places[:, None], np.array(codes)[:, None], places, codes]
        rows.append(SINGLE[places, codes].sum(axis=0) + pairs.sum(axis=(0, 1)))
    return np.array(rows)


def within(start, positions, edits):
    """All sequences of at most so many substitutions, made by a loop over whole words."""
    words = itertools.product(
        *(LETTERS if i in positions else base for i, base in enumerate(start))
    )
    return [
        text
        for text in map("".join, words)
        if sum(a != b for a, b in zip(text, start, strict=True)) <= edits
    ]


RAISE, NO_LIMITS = Goal(0), Limits()


def found_by(edits, *, positions=range(LENGTH), goal=RAISE, limits=NO_LIMITS, beam=1, start=START):
    return search(score, start, list(positions), edits, goal=goal, limits=limits, beam=beam)


def test_greedy_is_brute_force_for_one_edit():
    best = max(within(START, range(LENGTH), 1), key=lambda text: score([text])[0, 0])
    path = found_by(1)
    assert path[-1].text == best != START
    assert path[-1].value == pytest.approx(score([best])[0, 0])


def test_a_full_beam_is_brute_force_for_two_edits_and_greedy_is_not():
    best = max(within(START, range(LENGTH), 2), key=lambda text: score([text])[0, 0])
    assert found_by(2, beam=3 * LENGTH)[-1].text == best
    assert found_by(2)[-1].value < score([best])[0, 0]


def test_limits_and_an_unchanged_label_are_brute_force_over_what_they_allow():
    """GC counted by hand, motifs by regular expressions that are written out for both strands."""
    start = "ACAGTCAGA"
    origin = score([start])[0]
    goal = Goal(0, [1], weight=0.7, tolerance=9.0)
    limits = Limits(0.4, 0.6, ["GATR", "CCN"])

    def keeps(text):
        share = sum(base in "GC" for base in text) / len(text)
        sites = re.search("GAT[AG]|[CT]ATC|CC[ACGT]|[ACGT]GG", text)
        return 0.4 <= share <= 0.6 and not sites

    def value(text):
        raised, other = score([text])[0]
        change = abs(other - origin[1])
        return raised - 0.7 * change if change <= 9.0 else -np.inf

    assert keeps(start)
    every = within(start, range(LENGTH), 2)
    allowed = [text for text in every if keeps(text)]
    path = found_by(2, goal=goal, limits=limits, beam=1000, start=start)
    one_by_one = [
        text
        for text in allowed
        if any(keeps(x) and value(x) > -np.inf for x in between(start, text))
    ]
    best = max(one_by_one, key=value)
    assert path[-1].text == best
    assert path[-1].value == pytest.approx(value(best))
    assert best != max(every, key=lambda text: score([text])[0, 0])
    assert all(keeps(step.text) for step in path)


def between(start, text):
    """The sequences with one of the two substitutions, by either of which the search may pass."""
    places = [i for i in range(LENGTH) if start[i] != text[i]]
    if len(places) < 2:
        return [start]
    return [start[:i] + text[i] + start[i + 1 :] for i in places]


def test_what_begins_outside_of_a_limit_only_comes_nearer():
    limits = Limits(min_gc=0.5, forbidden=["TATA"])
    start = "TATATAGAA"
    path = found_by(5, limits=limits, start=start, beam=4)
    gc = [sum(base in "GC" for base in step.text) for step in path]
    sites = [len(re.findall("(?=TATA)", step.text)) for step in path]
    assert sites[0] == 2
    assert len(path) > 2
    assert all(a <= b or b >= 4.5 for a, b in itertools.pairwise(gc))
    assert sites == sorted(sites, reverse=True)


def test_fixed_positions_and_edited_ones_stay():
    path = found_by(3, positions=[1, 4, 5], beam=5)
    changed = [i for i in range(LENGTH) if START[i] != path[-1].text[i]]
    assert set(changed) <= {1, 4, 5}
    assert len({step.position for step in path[1:]}) == len(path) - 1


def test_the_distance_is_that_of_scipy_for_kmers_counted_in_a_dictionary():
    real, text = draw_dna(300, 1), draw_dna(40, 2)

    def counts(bases):
        words = (bases[i : i + 3] for i in range(len(bases) - 2))
        return Counter(min(word, reverse_complement(word)) for word in words)

    p, q = counts(text), counts(real)
    expected = jensenshannon(*([each[word] for word in {**p, **q}] for each in (p, q)), base=2)
    content = KmerContent.of([real], 3, None, 0.95)
    assert content.distance(text) == pytest.approx(expected)
    assert content.limit == pytest.approx(0)
    both = KmerContent.of([real, text], 3, None, 1.0)
    assert both.limit == pytest.approx(max(map(both.distance, (real, text))))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """An untrained model of two labels and windows of 60 bp; its scores mean nothing."""
    encoder = {
        "hidden_size": 16, "num_layers": 1, "num_heads": 2, "ffn_size": 16,
        "max_tokens": 64, "block_size": 8, "num_random": 1, "dropout": 0.0,
    }  # fmt: skip
    return write_tiny_bundle(
        tmp_path_factory.mktemp("models") / "tiny", vocab_size=32, encoder=encoder, window_bp=60
    )


@pytest.fixture
def genome(tmp_path):
    (tmp_path / "genome.fa").write_text(f">chr1\n{draw_dna(4000, 3)}\n")
    return tmp_path / "genome.fa"


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_trace_leads_from_the_start_to_the_designed_sequence(model, genome, tmp_path):
    """Scores are those of `predict`, and limited values are counted again."""
    options = {
        "random": 2, "edits": 2, "beam": 2, "fixed": ["1-40", "60"], "unchanged": "*", "unchanged_weight": 0.1,
        "min_gc": 0.45, "max_gc": 0.55, "forbidden": ["GATC"], "kmers_of": genome, "model": model, "seed": 4,
        "kmer_bp": 2, "threads": 1,
    }  # fmt: skip
    result = design("CTCF", tmp_path / "a", **options)
    design("CTCF", tmp_path / "b", **options)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")
    with (tmp_path / "a/trace.tsv").open(newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    texts = []
    for row in rows:
        if row["step"] == "0":
            texts.append(result.starts[row["sequence"]])
            continue
        place = int(row["position"]) - 1
        assert (texts[-1][place], 40 <= place < 59) == (row["ref"], True)
        texts.append(texts[-1][:place] + row["alt"] + texts[-1][place + 1 :])
        assert result.sequences[row["sequence"]][place] == row["alt"]
    last = {row["sequence"]: text for row, text in zip(rows, texts, strict=True)}
    assert last == result.sequences
    lines = [f">{name}\n{text}\n" for name, text in last.items()]
    assert (tmp_path / "a/designed.fa").read_text() == "".join(lines)
    shares = predict(sequences=texts, model=model, threads=1, precision="32-true").probabilities
    expected = np.log(shares / (1 - shares))
    shown = [[float(row[f"{label}_log_odds"]) for label in ("CTCF", "DNase")] for row in rows]
    np.testing.assert_allclose(shown, expected, atol=2e-4)
    gain = [float(row["objective"]) for row in rows if row["sequence"] == "random_1"]
    assert gain[-1] == max(gain) > gain[0]
    for row, text in zip(rows, texts, strict=True):
        gc = sum(base in "GC" for base in text) / 60
        assert float(row["gc"]) == pytest.approx(gc, abs=1e-4)
        assert 0.45 <= gc <= 0.55
        assert ("GATC" in text, row["forbidden_sites"]) == (False, "0")
        assert 0 < float(row["kmer_distance"]) < 1
    assert {"start.fa", "trace.tsv", "index.html", "random_1.png"} <= set(files_of(tmp_path / "a"))
    assert 'src="letters/random_1.png"' in (tmp_path / "a/index.html").read_text()


def test_random_starts_have_the_composition_asked_for(model, tmp_path):
    result = design(
        "CTCF", tmp_path / "out", random=3, length=400, random_gc=0.25, edits=1, model=model,
        fixed=["1-399"], threads=1,
    )  # fmt: skip
    text = "".join(result.starts.values())
    # 1,200 bases: a standard deviation is 0.0125.
    assert sum(base in "GC" for base in text) / len(text) == pytest.approx(0.25, abs=0.05)
    assert len(set(result.starts.values())) == 3


def test_bad_input_is_one_line_before_any_work(model, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.fa").write_text(f">a\n{'ACGTN' * 12}\n")
    (tmp_path / "twice.fa").write_text(">a\nACGTAC\n>a\nACGTAC\n")
    (tmp_path / "short.fa").write_text(">a\nACGT\n")
    for words, line in (
        ("", "--start or --random: expected one"),
        ("--start s.fa --random 2", "--start or --random: expected one"),
        ("--start twice.fa", "twice.fa:3: a second record is called 'a'"),
        ("--start s.fa --min_gc 0.6 --max_gc 0.5", "--min_gc 0.6 is above --max_gc 0.5"),
        ("--start s.fa --edits 49", "--edits 49: sequence 'a' has 60 bases, and 48 of them"),
        ("--start s.fa --fixed 50-61", "--fixed 50-61: sequence 'a' has 60 bases"),
        ("--start s.fa --fixed 9-3", "--fixed '9-3': expected positions from 1"),
        ("--start s.fa --forbidden GAATTX", "--forbidden 'GAATTX': expected IUPAC codes"),
        ("--start s.fa --length 60", "--length 60: of random sequences"),
        ("--start short.fa", "short.fa:1: record 'a': 4 bases; expected from 6"),
        ("--start s.fa --model bundled-encoder", "this is a pretrained model without a label head"),
        ("--start s.fa --tolerance 1", "--tolerance 1: of labels that --unchanged names"),
        ("--start s.fa --unchanged CTFC", "near are CTCF"),
        ("--start s.fa --label *", "--label '*': expected one label"),
        ("--start s.fa --max_kmer_distance 0.1", "--max_kmer_distance 0.1: from a FASTA file"),
        ("--start s.fa --kmers_of short.fa", "no record of 60 bases"),
        ("--random 1 --min_gc 1", "--random_gc 0.5: none of 1,000 sequences of 60 bases"),
    ):
        before = {path.name for path in tmp_path.iterdir()}
        with pytest.raises(SystemExit, match=r"^2$"):
            main(f"design --label CTCF --model {model} --output out {words}".split())
        error = capsys.readouterr().err
        assert line in error
        assert len(error.splitlines()) == 1
        assert {path.name for path in tmp_path.iterdir()} - before <= {"short.fa.fai"}


def test_a_model_on_a_start_site_needs_its_window(tmp_path):
    (tmp_path / "s.fa").write_text(f">a\n{draw_dna(200, 1)}\n")
    with pytest.raises(InputError, match=r"sequence 'a' has 200 bases; this model was trained on"):
        design("*", tmp_path / "out", start=tmp_path / "s.fa")
