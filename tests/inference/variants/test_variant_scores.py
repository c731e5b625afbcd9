"""What the scores of variants promise, with a tiny untrained model."""

import copy
import gzip
import itertools
from dataclasses import replace

import numpy as np
import pysam
import pytest
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import reverse_complement
from dna_bigbird.prediction.predict import predict
from dna_bigbird.prediction.score_variants import score_variants
from tests.tiny_bundle import with_counts

COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
LENGTH = 1500
ROUNDING = 2e-5
"""Of a log-odds in float32, for windows of another batch; the effects here are about 0.1."""


@pytest.fixture
def toy(tmp_path, random_dna):
    """Function (records, bases) -> keyword arguments for score_variants."""
    counter = itertools.count()

    def _toy(records, bases=None):
        stem = tmp_path / str(next(counter))
        stem.with_suffix(".fa").write_text(f">chr1\n{bases or random_dna(LENGTH, 5)}\n")
        lines = ["\t".join(["1", str(p), ".", r, a, ".", ".", "."]) for p, r, a in records]
        stem.with_suffix(".vcf").write_text("\n".join([COLUMNS, *lines]) + "\n")
        return {"vcf": stem.with_suffix(".vcf"), "fasta": stem.with_suffix(".fa")}

    return _toy


@pytest.fixture
def bases(random_dna):
    return random_dna(LENGTH, 5)


def other_base(base):
    return {"A": "C", "C": "G", "G": "T", "T": "A"}[base]


def substitutions(bases, positions):
    return [(pos, bases[pos - 1], other_base(bases[pos - 1])) for pos in positions]


POSITIONS = [1, 60, 99, 100, 101, 102, 400, 401, 750, 1399, 1400, 1401, 1500]


def test_an_allele_equal_to_the_reference_scores_exactly_zero(toy, bases, bundle_folder):
    records = [(pos, bases[pos - 1], f"C,{bases[pos - 1]},G,a") for pos in POSITIONS]
    records += [(700, bases[699:705], bases[699:705].lower())]
    found = score_variants(**toy(records), model=bundle_folder)
    same = np.array([a.upper() == r for a, r in zip(found.alt, found.ref, strict=True)])
    assert same.sum() > len(POSITIONS)
    assert (found.diff[same] == 0).all()
    assert (found.log_odds[same] == 0).all()
    assert (np.abs(found.log_odds[~same]).max(axis=1) > 100 * ROUNDING).mean() > 0.9


@pytest.mark.parametrize("window", [200, 201])
def test_a_genome_that_carries_the_other_allele_gives_the_negative(
    toy, bases, bundle_folder, window
):
    records = substitutions(bases, POSITIONS)
    found = score_variants(**toy(records), model=bundle_folder, window=window)
    swapped = []
    for pos, ref, alt in records:
        changed = bases[: pos - 1] + alt + bases[pos:]
        one = score_variants(**toy([(pos, alt, ref)], changed), model=bundle_folder, window=window)
        swapped.append(one.log_odds[0])
    np.testing.assert_allclose(found.log_odds, -np.array(swapped), atol=ROUNDING)


@pytest.mark.parametrize("weight", [0.0, 0.25])
def test_the_network_weighs_as_much_as_asked_next_to_the_counts(toy, bases, bundle_folder, weight):
    bundle = with_counts(bundle_folder)
    given = toy(substitutions(bases, POSITIONS))
    alone = replace(bundle, model=copy.deepcopy(bundle.model))
    torch.nn.init.zeros_(alone.model.label_layer.weight)
    both, counts, some = (
        score_variants(**given, model=m, network_weight=w, strand="forward").log_odds
        for m, w in ((bundle, 1.0), (alone, 1.0), (bundle, weight))
    )
    np.testing.assert_allclose(some, counts + weight * (both - counts), atol=3 * ROUNDING)
    assert np.abs(some - both).max() > 100 * ROUNDING
    assert np.array_equal(score_variants(**given, model=bundle, strand="forward").log_odds, both)


def test_a_weight_needs_counts(toy, bases, bundle_folder):
    given = toy(substitutions(bases, [400])) | {"network_weight": 0.5}
    with pytest.raises(InputError, match=r"^network_weight 0.5 .*k-mer counts"):
        score_variants(**given, model=bundle_folder)
    with pytest.raises(InputError, match=r"^network_weight 0.5: score embedding"):
        score_variants(**given, model=with_counts(bundle_folder), score="embedding")


@pytest.mark.parametrize("window", [200, 201])
def test_the_other_strand_gives_the_same(toy, bases, bundle_folder, window):
    records = [
        *substitutions(bases, POSITIONS),
        (300, bases[299:304], bases[299]),
        (301, bases[300:304], "ACGTA,T"),
        (500, bases[499], bases[499] + "ACGTTGCA"),
        (3, bases[2:4], "A"),
        (1490, bases[1489:1500], "AC"),
    ]
    mirrored = [
        (
            LENGTH - (pos - 1 + len(ref)) + 1,
            reverse_complement(ref),
            ",".join(map(reverse_complement, alt.split(","))),
        )
        for pos, ref, alt in records
    ]
    here = score_variants(**toy(records), model=bundle_folder, window=window)
    there = score_variants(
        **toy(mirrored, reverse_complement(bases)), model=bundle_folder, window=window
    )
    np.testing.assert_allclose(here.diff, there.diff, atol=ROUNDING)
    np.testing.assert_allclose(here.log_odds, there.log_odds, atol=ROUNDING)


def test_a_substitution_equals_two_records_scored_by_predict(toy, bases, bundle_folder, tmp_path):
    positions = [pos for pos in POSITIONS if 100 < pos < 1400]
    records = substitutions(bases, positions)
    fasta = tmp_path / "alleles.fa"
    with open(fasta, "w") as stream:
        for pos, ref, alt in records:
            left, right = bases[pos - 101 : pos - 1], bases[pos : pos + 100]
            stream.write(f">{pos}_ref\n{left}{ref}{right}\n>{pos}_alt\n{left}{alt}{right}\n")
    p = predict(fasta, model=bundle_folder, window=201, precision="32-true").probabilities
    found = score_variants(**toy(records), model=bundle_folder, window=201)
    np.testing.assert_allclose(found.diff, p[1::2] - p[0::2], atol=ROUNDING)


def widest(bases: str, changed: str) -> tuple[int, int]:
    """The bases that any way to write a change replaces: tried one after another."""
    grown = len(changed) - len(bases)
    size = abs(grown)
    if grown == 0:
        return tuple(
            side([i for i in range(len(bases)) if bases[i] != changed[i]]) + end
            for side, end in ((min, 0), (max, 1))
        )
    short, long = sorted((bases, changed), key=len)
    places = [i for i in range(len(short) + 1) if long[:i] + long[i + size :] == short]
    if places:
        return min(places), max(places) + (size if grown < 0 else 0)
    same = next(i for i in range(len(short)) if bases[i] != changed[i])
    ending = next(i for i in range(len(short)) if bases[-1 - i] != changed[-1 - i])
    return same, len(bases) - ending


@pytest.mark.parametrize("window", [200, 201])
def test_any_allele_equals_haplotypes_cut_by_hand(toy, bases, bundle_folder, window):
    """Each strand by itself: an even window holds other bases on the two strands.

    Centred on what `widest` finds: the bases that change, wherever in a repeat they are written.
    """
    records = [
        (400, bases[399], other_base(bases[399])),
        (500, bases[499:505], bases[499]),
        (600, bases[599], bases[599] + "ACGTTGCAAC"),
        (700, bases[699:702], reverse_complement(bases[699:702])),
        (800, bases[799:804], "AC"),
        (2, bases[1:4], "G"),
        (1495, bases[1494], bases[1494] + "TTT"),
    ]
    alleles = {}
    for strand in "+-":
        for pos, ref, alt in records:
            changed_to = bases[: pos - 1] + alt + bases[pos - 1 + len(ref) :]
            start, end = widest(bases, changed_to)
            for name, changed in (("ref", bases), ("alt", changed_to)):
                first, stop = start, end
                if strand == "-":
                    changed = reverse_complement(changed)
                    first, stop = LENGTH - end, LENGTH - start
                cut = (first + stop) // 2 - window // 2 + 500
                padded = "N" * 500 + changed + "N" * 500
                alleles[strand, pos, name] = padded[cut : cut + window]
    names = ["".join(map(str, key)) for key in alleles]
    p = predict(
        sequences=dict(zip(names, alleles.values(), strict=True)), model=bundle_folder,
        window=window, strand="forward", precision="32-true",
    ).probabilities  # fmt: skip
    logit = np.log(p.astype(float)) - np.log1p(-p.astype(float))
    forward, reverse = np.split(p[1::2] - p[0::2], 2)
    found = score_variants(**toy(records), model=bundle_folder, window=window)
    np.testing.assert_allclose(found.diff, (forward + reverse) / 2, atol=ROUNDING)
    of_logits = np.mean(np.split(logit[1::2] - logit[0::2], 2), axis=0)
    np.testing.assert_allclose(found.log_odds, of_logits, atol=10 * ROUNDING)
    one = score_variants(**toy(records), model=bundle_folder, window=window, strand="forward")
    np.testing.assert_allclose(one.diff, forward, atol=ROUNDING)


def test_alleles_of_a_record_score_as_in_records_of_their_own(toy, bases, bundle_folder):
    together = score_variants(
        **toy([(400, bases[399:401], "A,ACGT,<DEL>,GG")]), model=bundle_folder
    )
    apart = score_variants(
        **toy([(400, bases[399:401], alt) for alt in ("A", "ACGT", "<DEL>", "GG")]),
        model=bundle_folder,
    )
    np.testing.assert_allclose(together.log_odds, apart.log_odds, atol=ROUNDING)
    assert np.isnan(together.log_odds[:, 0]).tolist() == [False, False, True, False]
    assert together.skipped == apart.skipped == {"symbolic": 1}


def test_order_batches_and_neighbours_do_not_matter(toy, bases, bundle_folder):
    records = substitutions(bases, range(3, 1400, 31))
    found = score_variants(**toy(records), model=bundle_folder)
    order = np.random.default_rng(0).permutation(len(records))
    shuffled = score_variants(**toy([records[i] for i in order]), model=bundle_folder, batch_size=7)
    np.testing.assert_array_equal(found.pos[order], shuffled.pos)
    np.testing.assert_allclose(found.log_odds[order], shuffled.log_odds, atol=ROUNDING)
    few = score_variants(**toy(records[5:7]), model=bundle_folder, batch_size=1)
    np.testing.assert_allclose(found.log_odds[5:7], few.log_odds, atol=ROUNDING)


@pytest.mark.slow
def test_workers_do_not_matter(toy, bases, bundle_folder):
    records = substitutions(bases, range(3, 1400, 31))
    found = score_variants(**toy(records), model=bundle_folder)
    spread = score_variants(**toy(records), model=bundle_folder, workers=2)
    np.testing.assert_allclose(found.log_odds, spread.log_odds, atol=ROUNDING)


def test_windows_longer_than_the_context_are_cut_alike(toy, bases, bundle_folder):
    """The alleles may differ in tokens, their parts must not: only one part changes."""
    ((pos, ref, alt),) = substitutions(bases, [700])
    window = 600
    inputs = toy([(pos, ref, alt)])
    found = score_variants(**inputs, model=bundle_folder, window=window, strand="forward")
    assert any("equal parts" in note for note in found.notes)
    first = pos - 1 - window // 2
    whole = {
        "ref": bases[first : first + window],
        "alt": bases[first : pos - 1] + alt + bases[pos : first + window],
    }
    effects = []
    for count in range(2, 6):
        step = window // count
        parts = {
            f"{name}{i}": text[i * step : (i + 1) * step]
            for name, text in whole.items()
            for i in range(count)
        }
        p = predict(
            sequences=parts, model=bundle_folder, window=300, strand="forward", precision="32-true"
        ).probabilities
        effects.append((p[count:] - p[:count]).sum(axis=0) / count)
    assert np.abs(np.array(effects) - found.diff).max(axis=1).min() < ROUNDING


def test_several_models_give_the_mean(toy, bases, bundle_folder, tmp_path):
    bundle = load_bundle(bundle_folder)
    for parameter in bundle.model.parameters():
        parameter.data *= 0.9
    save_bundle(
        tmp_path / "other", model=bundle.model, config=bundle.config, tokenizer=bundle.tokenizer,
        metrics=bundle.metrics, card="# other\n",
    )  # fmt: skip
    inputs = toy(substitutions(bases, [300, 600, 900]))
    one, two = (score_variants(**inputs, model=m).diff for m in (bundle_folder, tmp_path / "other"))
    both = score_variants(**inputs, model=[bundle_folder, tmp_path / "other"])
    assert np.abs(one - two).max() > 100 * ROUNDING
    np.testing.assert_allclose(both.diff, (one + two) / 2, atol=ROUNDING)


def test_labels_and_empty_files(toy, bases, bundle_folder):
    records = substitutions(bases, [300, 600])
    whole = score_variants(**toy(records), model=bundle_folder)
    found = score_variants(**toy(records), model=bundle_folder, labels="DN*")
    assert found.label_names == ["DNase"]
    np.testing.assert_allclose(found.diff[:, 0], whole.diff[:, 1], atol=ROUNDING)
    empty = score_variants(**toy([]), model=bundle_folder)
    assert (empty.records, empty.diff.shape) == (0, (0, 2))


@pytest.mark.parametrize("window", [0, 1, 10**12])
def test_windows_that_make_no_sense(toy, bases, bundle_folder, window):
    with pytest.raises(InputError, match=rf"^window {window}: expected from 2 to 1500 base pairs"):
        score_variants(**toy([]), model=bundle_folder, window=window)


@pytest.fixture(scope="module")
def hg19(real_data, tmp_path_factory):
    path = tmp_path_factory.mktemp("genome") / "hg19.fa"
    (packed,) = (real_data / "genome").glob("hg19_chr22_*.fa.gz")
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


@pytest.mark.parametrize("name", ["1000genomes_phase3", "hapmap_exome"])
def test_real_files_from_end_to_end(real_data, hg19, bundle_folder, tmp_path, name):
    (vcf,) = (real_data / "variants").glob(f"{name}*.vcf.gz")
    plain = tmp_path / "plain.vcf"  # pysam does not open every gzip
    plain.write_bytes(gzip.decompress(vcf.read_bytes()))
    with pysam.VariantFile(str(plain)) as records:
        alleles = [(r.chrom, r.pos, r.ref, alt) for r in records for alt in r.alts or ()]
    found = score_variants(vcf, hg19, bundle_folder, window=60)
    assert list(zip(found.chrom, found.pos, found.ref, found.alt, strict=True)) == alleles
    built = np.isfinite(found.diff[:, 0])
    assert sum(found.skipped.values()) == (~built).sum()
    is_odd = np.array([bool(set(alt) - set("ACGT")) for *_, alt in alleles])
    assert built[~is_odd].all()
    assert {alleles[i][3] for i in np.flatnonzero(built & is_odd)} <= {"<DEL>", "<DUP>", "<INV>"}


def spelled(bases, pos, ref, alt, rng):
    """The same allele with up to 60 bases around it that do not change, in upper or lower case."""
    before, after = rng.integers(0, 60, size=2)
    start = max(1, pos - int(before))
    left, end = bases[start - 1 : pos - 1], pos - 1 + len(ref)
    right = bases[end : end + int(after)]
    written = (left + ref + right, left + alt + right)
    return start, *(text.lower() if rng.random() < 0.2 else text for text in written)


def test_an_allele_has_one_score_however_it_is_written(toy, bases, bundle_folder):
    """Substitutions, deletions and insertions: padded, and in a repeat at each of its copies."""
    rng = np.random.default_rng(0)
    repeat = bases[:600] + "CA" * 20 + bases[600:]
    drawn = []
    for _ in range(12):
        pos, size = int(rng.integers(30, 1400)), int(rng.integers(1, 4))
        ref = repeat[pos - 1 : pos - 1 + size]
        alt = "".join(rng.choice(list("ACGT"), size=int(rng.integers(1, 4))))
        drawn.append([(pos, ref, alt)] + [spelled(repeat, pos, ref, alt, rng) for _ in range(4)])
    copies = [(pos, repeat[pos - 1 : pos + 2], repeat[pos - 1]) for pos in (600, 612, 637)]
    drawn.append([*copies, *(spelled(repeat, *copy, rng) for copy in copies)])
    records = [record for ways in drawn for record in ways]
    found = score_variants(**toy(records, repeat), model=bundle_folder, window=200)
    edges = np.cumsum([len(ways) for ways in drawn])[:-1]
    for values in (found.diff, found.log_odds):
        for ways in np.split(values, edges):
            np.testing.assert_allclose(ways, ways[:1].repeat(len(ways), 0), atol=1e-6)
    assert found.ref == [ref for _, ref, _ in records]


def test_alleles_of_one_record_that_change_different_bases(toy, bases, bundle_folder):
    pos, ref = 700, bases[699:703]
    alts = [ref[:-1] + other_base(ref[-1]), other_base(ref[0]) + ref[1:], ref[:2], ref + "TT"]
    together = score_variants(**toy([(pos, ref, ",".join(alts))]), model=bundle_folder)
    apart = score_variants(
        **toy(
            [
                (pos + 3, ref[3], alts[0][3]),
                (pos, ref[0], alts[1][0]),
                (pos + 1, ref[1:], ref[1]),
                (pos + 3, ref[3], ref[3] + "TT"),
            ]
        ),
        model=bundle_folder,
    )
    np.testing.assert_allclose(together.log_odds, apart.log_odds, atol=ROUNDING)
