"""`run_variants`: scores compared with score-variants, embed and scikit-learn; leaks; a run that was stopped."""

import json
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from dna_bigbird import embed
from dna_bigbird.bench import variant_sources, variant_task
from dna_bigbird.bench.parts import ArrayParts
from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.variant_task import run_variants
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.genome import reverse_complement
from dna_bigbird.metrics.task_results import TaskResult
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.embedder import Embedder
from dna_bigbird.prediction.score_variants import score_variants
from tests.pipeline.bench.variant_runs import prepared
from tests.pretrained_bundle import write_pretrained_bundle
from tests.suites.variant_files import (
    CHROMOSOMES,
    made_variants,
    write_bed,
    write_genome,
    write_table,
)
from tests.tiny_bundle import draw_dna, write_tiny_bundle

WINDOW = 62
"""What the tiny model reads."""
DATASET = "mendelian_traits_matched_9"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_pretrained_bundle(tmp_path_factory.mktemp("models") / "bases")


@pytest.fixture
def toy(tmp_path, model):
    """Function (rows, …) -> run and variants of TraitGym."""

    def prepare(rows, *, bundle=model, name="parts"):
        write_table(tmp_path / DATASET / "test.tsv", rows)
        genomes = Genomes({"GRCh38": write_genome(tmp_path)})
        return prepared("traitgym", tmp_path, genomes, bundle, tmp_path / name)

    return prepare


def scores_of(run, name, key):
    """Values of the finished parts of one source."""
    paths = sorted(run.folder.glob(f"{name}-*.npz"))
    return np.concatenate([np.load(path)[key] for path in paths])


def as_text(result):
    return json.dumps(result.to_json(), sort_keys=True)


def window_by_hand(row, allele, strand):
    bases = CHROMOSOMES[f"chr{row['chrom']}"]
    text = bases[: row["pos"] - 1] + allele + bases[row["pos"] :]
    at = row["pos"] - 1
    if strand:
        text, at = reverse_complement(text), len(text) - 1 - at
    return text[at - WINDOW // 2 : at + WINDOW // 2]


def test_likelihoods_are_those_of_score_variants(toy, tmp_path, model):
    rows = made_variants(24)
    run, data = toy(rows)
    run_variants(run, data)
    lines = ["#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"]
    lines += [f"chr{r['chrom']}\t{r['pos']}\t.\t{r['ref']}\t{r['alt']}\t.\t.\t." for r in rows]
    (tmp_path / "toy.vcf").write_text("\n".join(lines) + "\n")
    scored = score_variants(
        vcf=tmp_path / "toy.vcf", fasta=tmp_path / "toy.fa", model=model, score="likelihood", window=WINDOW
    )  # fmt: skip
    assert scores_of(run, "likelihood", "log_ratio").mean(axis=1) == pytest.approx(
        scored.score, abs=2e-4
    )


@pytest.mark.parametrize("algorithm", ["bases", "bpe"])
def test_distances_are_those_of_the_states(toy, tmp_path, algorithm):
    rows = made_variants(8)
    bundle = write_pretrained_bundle(tmp_path / algorithm, algorithm=algorithm)
    run, data = toy(rows, bundle=bundle)
    run_variants(run, replace(data, window_bp=WINDOW))
    assert data.both_strands
    for number, row in enumerate(rows):
        distances, products = [], []
        for strand in (0, 1):
            of_alleles = []
            for allele in (row["ref"], row["alt"]):
                vectors = embed(
                    sequences=[window_by_hand(row, allele, strand)],
                    model=bundle, pooling="tokens", strand="forward", precision="32-true",
                )  # fmt: skip
                bases = [None] * WINDOW
                spans = zip(vectors.token_start, vectors.token_end, vectors.vectors, strict=True)
                for start, end, state in spans:
                    bases[start:end] = [state.astype(float)] * (end - start)
                of_alleles.append(np.array(bases))
            ref, alt = of_alleles
            distances.append(np.sqrt(((ref - alt) ** 2).sum()))
            products.append((ref * alt).sum(axis=0))
        stored = scores_of(run, "states", "euclidean")[number]
        assert stored == pytest.approx(distances, rel=1e-3, abs=1e-3)
        expected = np.mean(products, axis=0)
        assert scores_of(run, "states", "products")[number] == pytest.approx(
            expected, rel=1e-3, abs=1e-2
        )


def test_bend_takes_the_cosine_distance_of_the_variant_on_the_forward_strand(tmp_path, model):
    rows = made_variants(20)
    write_bed(tmp_path / "variant_effects_disease.bed", rows)
    genomes = Genomes({"GRCh38": write_genome(tmp_path)})
    run, data = prepared("bend-variants", tmp_path, genomes, model, tmp_path / "parts")
    result = run_variants(run, data)
    cosines = []
    for row in rows:
        ref, alt = (
            embed(
                sequences=[window_by_hand(row, allele, 0)], model=model, pooling="tokens",
                strand="forward", precision="32-true",
            ).vectors[WINDOW // 2].astype(float)
            for allele in (row["ref"], row["alt"])
        )  # fmt: skip
        cosines.append(1 - ref @ alt / np.linalg.norm(ref) / np.linalg.norm(alt))
    expected = roc_auc_score([row["label"] for row in rows], cosines)
    assert scores_of(run, "states", "cosine")[:, 0] == pytest.approx(cosines, abs=1e-4)
    assert result.model.scores["published"]["auroc"].value == pytest.approx(expected, abs=1e-3)
    assert result.settings["window_bp"] == WINDOW  # 512 is more than the model reads
    assert (result.settings["block_bp"], result.model.strands) == (5000, {})


def test_every_source_has_its_scores_with_intervals_and_differences(toy, model):
    rows = made_variants(120)
    run, data = toy(rows)
    result = run_variants(run, data)
    labels = np.array([row["label"] for row in rows])
    names = [source.name for source in result.sources]
    assert names == [
        "model", "absolute_likelihood", "embedding", "embedding_cosine", "random_weights", "probe", "gc",
        "counting", "random",
    ]  # fmt: skip
    chosen = -scores_of(run, "likelihood", "log_ratio").mean(axis=1)
    scores = result.model.scores["published"]
    assert scores["auprc"].value == pytest.approx(average_precision_score(labels, chosen), abs=1e-6)
    assert scores["auroc"].value == pytest.approx(roc_auc_score(labels, chosen), abs=1e-6)
    chromosomes = np.array([row["chrom"] for row in rows])
    parts = [
        (c, average_precision_score(labels[chromosomes == c], chosen[chromosomes == c]))
        for c in "12"
    ]
    weighted = sum((chromosomes == c).sum() * value for c, value in parts) / len(rows)
    assert scores["auprc_by_chromosome"].value == pytest.approx(weighted, abs=1e-6)
    assert {c: group["published"].value for c, group in result.groups.items()} == pytest.approx(dict(parts), abs=1e-6)  # fmt: skip
    for source in result.sources:
        for name, score in source.scores["published"].items():
            assert 0 <= score.low <= score.high <= 1, (source.name, name)
    gc = [window_by_hand(row, row["ref"], 0) for row in rows]
    shares = [(text.count("G") + text.count("C")) / WINDOW for text in gc]
    by_name = {source.name: source for source in result.sources}
    stored = by_name["gc"].scores["published"]
    assert stored["auprc"].value == pytest.approx(average_precision_score(labels, shares), abs=1e-6)
    minus = by_name["gc"].minus["published"]
    gain = scores["auprc_by_chromosome"].value - stored["auprc_by_chromosome"].value
    assert minus.value == pytest.approx(gain, abs=1e-5)
    assert minus.low < minus.high
    assert len(by_name["random"].scores["published"]["auprc"].by_seed) == 3
    assert by_name["probe"].is_trained
    assert not result.model.is_trained
    assert -1 <= result.model.strands["correlation"] <= 1
    assert as_text(TaskResult.from_json(json.loads(as_text(result)))) == as_text(result)
    assert result.counts == {"rows_read": 120, "variants": 120, "positives": 30}
    assert result.settings["chance"]["auprc"] > 0.25
    weights = (model / "model.safetensors").read_bytes()
    assert result.settings["model_sha256"] == sha256(weights).hexdigest()


@pytest.mark.parametrize(
    ("suite", "file"), [("traitgym", "likelihood"), ("bend-variants", "states")]
)
def test_random_weights_score_as_a_network_that_was_not_trained(tmp_path, model, suite, file):
    rows = made_variants(24)
    write_table(tmp_path / DATASET / "test.tsv", rows)
    write_bed(tmp_path / "variant_effects_disease.bed", rows)
    genomes = Genomes({"GRCh38": write_genome(tmp_path)})
    new = write_pretrained_bundle(tmp_path / "new", is_new=True)
    run, data = prepared(suite, tmp_path, genomes, model, tmp_path / "parts")
    result = run_variants(run, data)
    (source,) = (x for x in result.sources if x.name == "random_weights")
    of_new = run_variants(replace(run, model=new, folder=tmp_path / "new-parts"), data)
    assert source.scores == of_new.model.scores
    assert source.strands == of_new.model.strands
    assert source.description.startswith(of_new.model.description)
    assert source.scores != result.model.scores
    assert not source.is_trained
    assert list(run.folder.glob(f"random_weights-{file}-*.npz"))


def test_complex_traits_rank_by_the_absolute_ratio(tmp_path, model):
    rows = made_variants(40)
    write_table(tmp_path / "complex_traits_matched_9" / "test.tsv", rows)
    genomes = Genomes({"GRCh38": write_genome(tmp_path)})
    run, data = prepared("traitgym", tmp_path, genomes, model, tmp_path / "parts")
    result = run_variants(run, data)
    chosen = np.abs(scores_of(run, "likelihood", "log_ratio").mean(axis=1))
    expected = average_precision_score([row["label"] for row in rows], chosen)
    assert result.model.scores["published"]["auprc"].value == pytest.approx(expected, abs=1e-6)
    assert "likelihood" in [source.name for source in result.sources]


def test_a_stopped_run_goes_on_and_gives_the_same(toy, monkeypatch):
    monkeypatch.setattr(ArrayParts.scored, "__kwdefaults__", {"at_once": 16})
    rows = made_variants(40)
    run, data = toy(rows)
    whole = as_text(run_variants(run, data))
    assert len(list(run.folder.glob("likelihood-*.npz"))) == 3
    again, _ = toy(rows, name="again")
    computed = variant_task.VariantModel.log_ratios
    calls = []

    def stopped(self, variants):
        calls.append(len(variants))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return computed(self, variants)

    monkeypatch.setattr(variant_task.VariantModel, "log_ratios", stopped)
    with pytest.raises(KeyboardInterrupt):
        run_variants(again, data)
    assert as_text(run_variants(again, data)) == whole
    random_weights = [16, 16, 8]
    assert calls == [16, 16, 8, 8, *random_weights]
    # Nothing is computed that is there; a damaged part, or one of other variants, is.
    for part in ("likelihood-0000016.npz", "states-0000000.npz"):
        (again.folder / part).write_bytes(b"PK damaged")
    (again.folder / "likelihood-0000032.npz").write_bytes(
        (again.folder / "likelihood-0000000.npz").read_bytes()
    )
    assert as_text(run_variants(again, data)) == whole
    assert calls[7:] == [16, 8]
    for path in again.folder.glob("*.npz"):
        path.unlink()
    assert as_text(run_variants(again, data)) == whole
    assert calls[9:] == [16, 16, 8, *random_weights]


def test_another_model_or_genome_is_computed_again(toy, tmp_path, monkeypatch):
    rows = made_variants(12)
    run, data = toy(rows)
    run_variants(run, data)
    calls = []
    monkeypatch.setattr(variant_sources, "counting_ratios", lambda *_: calls.append(1))
    run_variants(run, data)
    assert calls == []
    other = write_pretrained_bundle(tmp_path / "other", algorithm="bpe")
    run_variants(replace(run, model=other), data)
    assert calls == [1]


def test_variants_that_were_read_with_labels_are_left_out(toy, tmp_path):
    rows = made_variants(60)
    records = [
        {
            "training": "pretraining",
            "assembly": "hg38",
            "regions": {"chr1": "1-20000", "2": "1-25000"},
        },
        {"training": "chromatin", "assembly": "GRCh38", "regions": {"chr1": "1-15000"}},
        {"training": "promoter", "assembly": "GRCh37", "regions": {"chr1": "1-30000"}},
    ]
    bundle = write_pretrained_bundle(tmp_path / "read", regions_read=records)
    run, data = toy(rows, bundle=bundle)
    result = run_variants(run, data)
    read = [row["chrom"] == "1" and row["pos"] - 1 - WINDOW // 2 < 15000 for row in rows]
    in_pretraining = [row["chrom"] == "2" or row["pos"] - 1 - WINDOW // 2 < 20000 for row in rows]
    only_there = sum(in_pretraining) - sum(read)
    assert 0 < sum(read) < 30 < only_there < 60 - sum(read)
    assert result.leaks == {"read_with_labels": sum(read), "read_without_labels": only_there}
    assert result.n == {"published": 60, "leak_free": 60 - sum(read)}
    free = ~np.array(read)
    labels = np.array([row["label"] for row in rows])
    chosen = -scores_of(run, "likelihood", "log_ratio").mean(axis=1)
    expected = average_precision_score(labels[free], chosen[free])
    assert result.model.scores["leak_free"]["auprc"].value == pytest.approx(expected, abs=1e-6)
    assert any(
        note.startswith("What was read in the fine-tuning on promoter labels: chr1:1-30,000 of GRCh37 cannot all")
        for note in result.notes
    )  # fmt: skip


def test_everything_read_leaves_no_leak_free_score(toy, tmp_path):
    records = [{"training": "x", "assembly": "GRCh38", "regions": {"1": "1-30000", "2": "1-25000"}}]
    bundle = write_pretrained_bundle(tmp_path / "read", regions_read=records)
    run, data = toy(made_variants(12), bundle=bundle)
    result = run_variants(run, data)
    assert result.n == {"published": 12, "leak_free": 0}
    assert set(result.model.scores) == {"published"}


def test_a_model_of_labels_is_scored_by_its_states(toy, tmp_path):
    encoder = {
        "hidden_size": 16, "num_layers": 1, "num_heads": 2, "ffn_size": 32, "max_tokens": 64,
        "block_size": 8, "num_random": 1,
    }  # fmt: skip
    bundle = write_tiny_bundle(
        tmp_path / "labels", algorithm="bases", encoder=encoder, window_bp=48
    )
    run, data = toy(made_variants(24), bundle=bundle)
    result = run_variants(run, data)
    names = [source.name for source in result.sources]
    assert names == [
        "model", "embedding_cosine", "random_weights", "probe", "gc", "counting", "random",
    ]  # fmt: skip
    assert result.settings["window_bp"] == 48
    assert any("predicts no masked tokens: the model's score is not likelihood" in note for note in result.notes)  # fmt: skip
    assert any("does not record what it has read" in note for note in result.notes)
    assert result.leaks == {}


def test_shuffled_labels_score_as_chance(toy):
    rows = made_variants(400)
    rng = np.random.default_rng(3)
    shuffled = rng.permutation([row["label"] for row in rows])
    rows = [row | {"label": label} for row, label in zip(rows, shuffled, strict=True)]
    run, data = toy(rows)
    result = run_variants(run, data)
    chance = result.settings["chance"][result.metric]
    outside = [
        source.name
        for source in result.sources
        if not (score := source.scores["published"][result.metric]).low <= chance <= score.high
    ]
    assert "model" not in outside
    assert len(outside) <= 1  # of nine intervals of 95 %
    random = next(source for source in result.sources if source.name == "random")
    assert random.minus["published"].low < 0 < random.minus["published"].high


def test_the_two_alleles_are_cut_at_the_same_bases(tmp_path):
    """Of two windows of one length only one has more tokens than the context."""
    bundle = load_bundle(write_pretrained_bundle(tmp_path / "bpe", algorithm="bpe"))
    texts = [draw_dna(152, seed) for seed in range(40)]
    counts = [len(ids) for ids in bundle.tokenizer.encode_all(texts)]
    pair = [texts[int(np.argmin(counts))], texts[int(np.argmax(counts))]]
    assert min(counts) <= 62 < max(counts)
    embedder = Embedder(bundle, compute=Compute(precision="32-true"), pooling="tokens")
    alone = [spans[:, 0].tolist() for _, spans in embedder.tokens(pair)]
    together = [spans[:, 0].tolist() for _, spans in embedder.tokens(pair, together=2)]
    assert 76 in together[0]
    assert together[1] == alone[1]
    assert together[0] != alone[0]
