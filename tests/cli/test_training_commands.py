"""pretrain, evaluate-lm, finetune and evaluate, as the workflow calls them, on a toy genome."""

import json
import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from dna_bigbird.baselines.counted_documents import covering_documents
from dna_bigbird.cli.main import main
from dna_bigbird.datasets.labelled import LabelledSet
from dna_bigbird.datasets.scores import read_scores
from dna_bigbird.datasets.token_store import TokenStore
from dna_bigbird.errors import InputError
from dna_bigbird.inference import load_bundle
from tests.unprivileged import permissions_count

MOTIF = "GCGCCGTATAAAAGGGGCGCAGCC"
MODEL = (
    "--model.hidden_size 16 --model.num_layers 2 --model.num_heads 2 --model.ffn_size 32 "
    "--model.max_tokens 96 --model.block_size 8 --model.num_random 1"
)
STEPS = (
    "--training.batch_size 8 --training.learning_rate 0.003 --training.warmup_steps 3 "
    "--training.log_every 5 --training.precision 32-true --threads 1"
)
PRETRAIN = (
    f"pretrain --train train.h5 --validation validation.h5 --tokenizer bpe.model --seed 1 {MODEL} "
    f"{STEPS} --training.max_steps 20 --training.validate_every 10 --training.validation_examples 12"
)
FINETUNE = (
    f"finetune --genome toy.fa --data set.h5 --pretrained pretrained --seed 1 {STEPS} "
    "--training.max_steps 20 --training.validate_every 10 --head.pooling mean"
)


def run(line: str) -> None:
    main(line.split())


def refused(line: str, capsys) -> str:
    """Run a command that must fail as a user error; return what it says."""
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2") as stop:
        run(line)
    assert stop.value.code == 2
    return capsys.readouterr().err


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder in which everything was run once; tests write only to names of their own."""
    folder = tmp_path_factory.mktemp("project")
    rng = np.random.default_rng(0)
    letters = rng.choice(list("ACGT"), 60_000)
    sites = np.arange(500, 59_600, 400)
    for site in sites:
        letters[site - 30 : site - 30 + len(MOTIF)] = list(MOTIF)
    (folder / "toy.fa").write_text(f">chr1\n{''.join(letters)}\n")
    (folder / "sites.bed").write_text(
        "".join(f"chr1\t{s}\t{s + 1}\tsite{s}\t0\t+\n" for s in sites)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        sizes = (
            "--documents.passes 2 --documents.min_sentences 4 --documents.max_sentences 8 "
            "--documents.min_sentence_bp 80 --documents.max_sentence_bp 160 "
            "--documents.max_start_bp 500"
        )
        regions = {"train": "1-40000", "validation": "40001-50000", "test": "50001-60000"}
        for split, region in regions.items():
            run(
                f"documents --genome toy.fa --regions [chr1:{region}] --output {split}.bed.gz "
                f"--seed 1 {sizes}"
            )
            if split == "train":
                run(
                    "train-tokenizer --genome toy.fa --documents train.bed.gz --output bpe.model "
                    "--metrics bpe.json --seed 1 --tokenizer.vocab_size 128"
                )
            run(
                f"tokenize --genome toy.fa --documents {split}.bed.gz --tokenizer bpe.model "
                f"--output {split}.h5 --assembly demo-toy"
            )
        run(f"{PRETRAIN} --output pretrained --checkpoints checkpoints/pretrained")
        run(
            "evaluate-lm --model pretrained --train train.h5 --test test.h5 --output final/pretrained "
            "--report report/lm.json --seed 1 --examples 20 --genome toy.fa"
        )
        run(
            "promoter-set --genome toy.fa --sites sites.bed --output set.h5 --assembly demo-toy "
            "--seed 1 --upstream 150 --downstream 50 "
            "--split.validation [chr1:40001-50000] --split.test [chr1:50001-60000]"
        )
        run("baseline --genome toy.fa --data set.h5 --output kmer.h5 --seed 1 --kmer.max_k 3")
        run(f"{FINETUNE} --output promoter --checkpoints checkpoints/promoter")
        run(
            "evaluate --genome toy.fa --model promoter --data set.h5 "
            '--baselines {"kmer":"kmer.h5"} '
            "--output final/promoter --report report/promoter --seed 1 --replicates 50"
        )
    return folder


@pytest.fixture(autouse=True)
def in_project(project, monkeypatch):
    monkeypatch.chdir(project)


def metrics_of(folder) -> dict:
    return json.loads((folder / "metrics.json").read_text())


def test_finetuning_with_dropout_of_its_own(project, capsys):
    """The weights differ from those trained without, and the bundle carries the dropout."""
    run(f"{FINETUNE} --dropout 0.2 --output dropped --checkpoints checkpoints/dropped")
    dropped, kept = load_bundle(project / "dropped"), load_bundle(project / "promoter")
    assert (dropped.config["encoder"]["dropout"], kept.config["encoder"]["dropout"]) == (0.2, 0.1)
    weights = "head.dense.weight"
    assert not dropped.model.state_dict()[weights].equal(kept.model.state_dict()[weights])
    run(f"{FINETUNE} --dropout 0.1 --output same --checkpoints checkpoints/same")
    same = load_bundle(project / "same").model.state_dict()
    assert all(same[name].equal(value) for name, value in kept.model.state_dict().items())
    message = refused(f"{FINETUNE} --dropout 1 --output x --checkpoints y", capsys)
    assert "--dropout 1.0: expected at least 0 and below 1" in message


def test_few_validation_positives_are_noted(project, capsys, monkeypatch):
    labelled = LabelledSet("set.h5")
    count = int(labelled.labels_of(labelled.rows("validation")).sum())
    line = f"{FINETUNE} --training.max_steps 4 --training.validate_every 4"
    capsys.readouterr()
    run(f"{line} --output few --checkpoints checkpoints/few")
    note = f"note: set.h5: {count} positives for validation, expected at least 200: the choice of"
    assert capsys.readouterr().err.count(note) == 1
    monkeypatch.setattr("dna_bigbird.datasets.few_positives.ENOUGH", count)
    run(f"{line} --output enough --checkpoints checkpoints/enough")
    assert "positives for validation" not in capsys.readouterr().err
    assert (project / "few/metrics.json").read_text() == (
        project / "enough/metrics.json"
    ).read_text()
    drawn = "--training.validation_examples 8 --output drawn --checkpoints checkpoints/drawn"
    run(f"{line} {drawn}")
    assert "positives for validation" in capsys.readouterr().err, "of the rows that are looked at"


def bytes_of(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_pretrained_bundle_says_what_it_is(project):
    bundle = load_bundle(project / "pretrained")
    assert bundle.config["task"] == "pretraining"
    assert bundle.config["assembly"] == "demo-toy"
    assert bundle.config["semi_synthetic"] is True
    assert bundle.config["encoder"]["vocab_size"] == bundle.tokenizer.vocab_size == 128
    assert bundle.metrics["split"] == "validation"
    assert bundle.metrics["step"] in (10, 20)
    assert 1 < bundle.metrics["bits_per_base_masked"] < 4
    assert "Semi-synthetic" in (project / "pretrained" / "README.md").read_text()
    history = (project / "pretrained" / "history.tsv").read_text().splitlines()
    assert history[0] == "step\tsplit\tname\tvalue"
    best = f"{bundle.metrics['step']}\tvalidation\tbits_per_base_masked\t"
    assert any(line.startswith(best) for line in history)


def test_equal_runs_give_equal_bytes(project):
    run(f"{PRETRAIN} --output again/pretrained --checkpoints again/ck1")
    assert bytes_of(project / "again/pretrained") == bytes_of(project / "pretrained")
    lazily = "--training.workers 1 --training.tokenize on_the_fly"
    run(f"{FINETUNE} --output again/promoter --checkpoints again/ck2 {lazily}")
    assert bytes_of(project / "again/promoter") == bytes_of(project / "promoter")


def test_backends_compute_the_same(project, monkeypatch):
    """The gathered way gives the scores of the default one, in training and in prediction."""
    run(
        f"{PRETRAIN} --output gathered/pretrained --checkpoints gathered/checkpoints "
        "--training.attention_backend gather"
    )
    ours, theirs = (load_bundle(project / f) for f in ("pretrained", "gathered/pretrained"))
    expected = ours.metrics["bits_per_base_masked"]
    assert theirs.metrics["bits_per_base_masked"] == pytest.approx(expected, abs=1e-4)
    for backend in ("auto", "dense", "gather"):
        run(
            f"predict --fasta toy.fa --model promoter --output {backend}.tsv --backend {backend} "
            "--precision 32-true"
        )
    tables = [np.loadtxt(f"{b}.tsv", skiprows=1, usecols=3) for b in ("auto", "dense", "gather")]
    np.testing.assert_allclose(tables[1], tables[0], rtol=1e-4)
    np.testing.assert_allclose(tables[2], tables[0], rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "on_gpu", "message"),
    [
        ("flex", False, "attention_backend flex has no backward pass on a CPU; use auto, merged"),
        ("merged", True, "attention_backend merged runs on a CPU, and training takes the GPU"),
        (
            "merged --model.attention_dropout 0.1",
            False,
            "attention_backend merged has no dropout, the model's attention_dropout is 0.1",
        ),
        (
            "native",
            False,
            "backend 'native' takes head dimensions that are multiples of 16 up to 256, got 8, the",
        ),
    ],
)
def test_backend_that_cannot_train_is_refused(options, on_gpu, message, monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: on_gpu)
    error = refused(
        f"{PRETRAIN} --output never --checkpoints never2 --training.attention_backend {options}",
        capsys,
    )
    assert message in error
    assert not os.path.exists("never")


@pytest.mark.parametrize("line", [PRETRAIN, FINETUNE])
def test_compiling_needs_a_compiler(line, project, monkeypatch, capsys):
    monkeypatch.setattr(
        "dna_bigbird.pipeline.machine.flex_obstacle", lambda machine: "no C++ compiler"
    )
    options = "--output never --checkpoints never2 --training.compile true"
    expected = "--training.compile true cannot compile here: no C++ compiler; leave it out"
    assert expected in refused(f"{line} {options}", capsys)
    assert not os.path.exists("never")


def test_language_scores_stand_beside_their_baselines(project):
    metrics = metrics_of(project / "final/pretrained")
    assert metrics["split"] == "test"
    assert metrics["n_examples"] == 20
    low, value, high = (metrics[f"bits_per_base_masked{end}"] for end in ("_low", "", "_high"))
    assert low < value < high
    masked = {n for n, t in metrics["baselines"].items() if "bits_per_base_masked" in t}
    causal = {n for n, t in metrics["baselines"].items() if "bits_per_base_causal" in t}
    assert {n.rpartition("_")[2] for n in masked} == {"masked"}
    assert {n.rpartition("_")[2] for n in causal} == {"causal"}
    assert "token_unigram_masked" in masked
    for name in causal:  # over the documents
        table = metrics["baselines"][name]
        low, value, high = (table[f"bits_per_base_causal{end}"] for end in ("_low", "", "_high"))
        assert low <= value <= high
        assert table["n_documents"] > 1
    counted = {(t["n_counted_bp"], t["n_counted_documents"]) for t in metrics["baselines"].values()}
    ((bases, documents),) = counted  # all of them, and each base once
    train = TokenStore(project / "train.h5")
    places = [train.document_interval(d) for d in covering_documents(train)]
    assert (bases, documents) == (sum(place.length for place in places), len(places))
    report = json.loads((project / "report/lm.json").read_text())
    assert all(table["description"] for table in report["baselines"].values())
    card = (project / "final/pretrained/README.md").read_text()
    assert "token_unigram_masked" in card
    weights = project / "final/pretrained/model.safetensors"
    assert weights.read_bytes() == (project / "pretrained/model.safetensors").read_bytes()


def test_language_scores_by_chromosome_and_class_add_up(project):
    """One chromosome in one case: a single part each time, with the figures of the whole."""
    metrics = metrics_of(project / "final/pretrained")
    keys = [f"bits_per_base_masked{end}" for end in ("", "_low", "_high")]
    for table in (metrics, metrics["baselines"]["token_unigram_masked"]):
        whole = [table[key] for key in keys] + [metrics["n_masked_bp"]]
        assert list(table["by_chromosome"]) == ["chr1"]
        for part in (table["by_chromosome"]["chr1"], table["by_repeat_class"]["unknown"]):
            assert [part[key] for key in keys] + [part["n_bp"]] == pytest.approx(whole, abs=2e-6)
        nothing = dict.fromkeys(keys) | {"n_bp": 0}
        assert table["by_repeat_class"]["soft_masked"] == nothing


def test_another_genome_is_refused(project, capsys):
    letters = (project / "toy.fa").read_text().split("\n")[1]
    (project / "other.fa").write_text(f">chr1\n{letters[::-1]}\n")
    line = (
        "evaluate-lm --model pretrained --train train.h5 --test test.h5 --output never "
        "--report never.json --examples 1"
    )
    error = refused(f"{line} --genome other.fa", capsys)
    assert "test.h5: made from another genome (demo-toy): other.fa has other bases on chr1" in error
    assert "--repeats needs the genome too" in refused(f"{line} --repeats r.bed", capsys)
    assert not os.path.exists("never")


def test_promoter_scores_against_sklearn(project):
    labelled = LabelledSet(project / "set.h5")
    test = labelled.rows("test")
    labels = labelled.labels[test, 0]
    metrics = metrics_of(project / "final/promoter")
    assert metrics["n"] == len(test)
    assert metrics["n_positive"] == labels.sum()
    assert (metrics["split"], metrics["seed"], metrics["strand"]) == ("test", 1, "both")
    files = {"": "report/promoter/scores.h5", "kmer": "kmer.h5"}
    for name, file in files.items():
        table = metrics["baselines"][name] if name else metrics
        scores = read_scores(project / file).of(test)[:, 0]
        assert table["auroc"] == pytest.approx(roc_auc_score(labels, scores), abs=1e-6)
        expected = average_precision_score(labels, scores)
        assert table["auprc"] == pytest.approx(expected, abs=1e-6)
        assert table["auroc_low"] <= table["auroc"] <= table["auroc_high"]
    row = (project / "report/promoter/per_label.tsv").read_text().splitlines()
    values = dict(zip(row[0].split("\t"), row[1].split("\t"), strict=True))
    assert float(values["kmer_auroc"]) == metrics["baselines"]["kmer"]["auroc"]
    assert values["label"] == "promoter"
    curves = (project / "report/promoter/curves.tsv").read_text()
    assert {line.split("\t")[1] for line in curves.splitlines()[1:]} == {"model", "kmer", "chance"}
    card = (project / "final/promoter/README.md").read_text()
    assert "random_base" in card
    assert "kmer" in card
    assert load_bundle(project / "final/promoter").config["window_bp"] == 200


def test_fine_tuning_starts_from_the_pretrained_encoder(project):
    """With no learning to speak of the encoder stays what it was; from scratch it is another."""
    few = "--training.learning_rate 1e-12 --training.max_steps 2 --training.validate_every 2"
    line = FINETUNE.replace("--training.max_steps 20 --training.validate_every 10", "")
    line = line.replace("--training.warmup_steps 3", "--training.warmup_steps 0")
    run(f"{line} {few} --output still --checkpoints ck/still")
    run(f"{line} {few} --output scratch --checkpoints ck/scratch --from_scratch true")
    words = {
        name: load_bundle(project / name).model.encoder.word.weight.detach().numpy()
        for name in ("pretrained", "still", "scratch")
    }
    assert np.allclose(words["still"], words["pretrained"], atol=1e-6)
    assert np.abs(words["scratch"] - words["pretrained"]).mean() > 0.01
    assert load_bundle(project / "scratch").config["initial_weights"] == "random"


def test_a_store_of_another_tokenizer_is_refused(project, capsys):
    run(
        "train-tokenizer --genome toy.fa --documents train.bed.gz --output other.model "
        "--metrics other.json --seed 1 --tokenizer.vocab_size 100"
    )
    line = PRETRAIN.replace("bpe.model", "other.model")
    message = refused(f"{line} --output x --checkpoints ck/x", capsys)
    assert "train.h5: made with another tokenizer than other.model" in message


def test_windows_that_do_not_fit_are_refused_before_training(project, capsys):
    run(
        "promoter-set --genome toy.fa --sites sites.bed --output long.h5 --assembly demo-toy "
        "--upstream 800 --downstream 200 "
        "--split.validation [chr1:40001-50000] --split.test [chr1:50001-60000]"
    )
    line = FINETUNE.replace("set.h5", "long.h5")
    message = refused(f"{line} --output x --checkpoints ck/x", capsys)
    assert "long.h5: row" in message
    assert "the model reads at most 96" in message
    assert "--model.max_tokens" in message
    assert not (project / "x").exists()
    assert not (project / "ck/x").exists()


def test_pretraining_needs_two_segments(project, capsys):
    message = refused(f"{PRETRAIN} --model.num_segments 1 --output x --checkpoints ck/x", capsys)
    assert "--model.num_segments 1: pairs of segments need 2" in message


def test_a_set_without_validation_rows_is_refused(project, capsys):
    run(
        "promoter-set --genome toy.fa --sites sites.bed --output whole.h5 --assembly demo-toy "
        "--upstream 150 --downstream 50 --split.test [chr1:50001-60000]"
    )
    line = FINETUNE.replace("set.h5", "whole.h5")
    assert "whole.h5: no row in the validation split" in refused(
        f"{line} --output x --checkpoints ck/x", capsys
    )


def test_bundles_and_sets_that_do_not_belong_together_are_refused(project, capsys):
    common = "--output x --report y"
    message = refused(f"evaluate --genome toy.fa --model pretrained --data set.h5 {common}", capsys)
    assert "pretrained: a pretrained model without a label head" in message
    message = refused(
        f"evaluate-lm --model promoter --train train.h5 --test test.h5 {common}", capsys
    )
    assert "promoter: a promoter model; expected a pretrained one" in message
    run(
        "promoter-set --genome toy.fa --sites sites.bed --output small.h5 --assembly demo-toy "
        "--upstream 100 --downstream 50 "
        "--split.validation [chr1:40001-50000] --split.test [chr1:50001-60000]"
    )
    message = refused(f"evaluate --genome toy.fa --model promoter --data small.h5 {common}", capsys)
    assert "small.h5: its window_bp is 150, that of promoter 200" in message
    run("baseline --genome toy.fa --data small.h5 --output small_kmer.h5 --kmer.max_k 2")
    message = refused(
        "evaluate --genome toy.fa --model promoter --data set.h5 --baselines.kmer small_kmer.h5 "
        + common,
        capsys,
    )
    assert "small_kmer.h5: scores of another labelled set than set.h5" in message


def damaged_copy(name: str, dataset: str) -> str:
    """Copy an HDF5 file and flip one bit of a dataset's last stored byte; return the copy's name."""
    with h5py.File(name) as file:
        data = file[dataset]
        if data.chunks:
            chunk = data.id.get_chunk_info(data.id.get_num_chunks() - 1)
            position = chunk.byte_offset + (len(data) * data.dtype.itemsize - 1) % chunk.size
        else:
            position = data.id.get_offset() + data.id.get_storage_size() - 1
    content = bytearray(Path(name).read_bytes())
    content[position] ^= 1
    Path(f"damaged_{name}").write_bytes(content)
    return f"damaged_{name}"


TOKENS = "token_ids"
LM = "evaluate-lm --model pretrained --output x --report y --examples 2 --seed 1"
STATISTICS = "token-statistics --genome toy.fa --tokenizer bpe.model --output x"
LABELLED = "--genome toy.fa --seed 1"


@pytest.mark.parametrize(
    ("line", "option", "name", "dataset"),
    [
        (PRETRAIN, "--train", "train.h5", TOKENS),
        (PRETRAIN, "--validation", "validation.h5", TOKENS),
        (f"{LM} --test test.h5", "--train", "train.h5", TOKENS),
        (f"{LM} --train train.h5", "--test", "test.h5", "sentence_token_offsets"),
        (STATISTICS, "--store", "train.h5", TOKENS),
        ("info --verify true", "", "train.h5", TOKENS),
        (FINETUNE, "--data", "set.h5", "labels/bits"),
        (f"baseline {LABELLED}", "--data", "set.h5", "rows/start"),
        (f"baseline {LABELLED} --kind cnnprom", "--data", "set.h5", "labels/bits"),
        ("leakage --genome toy.fa", "--data", "set.h5", "rows/split"),
        ("info", "", "set.h5", "labels/name"),
        (f"evaluate {LABELLED} --model promoter --report y", "--data", "set.h5", "labels/bits"),
    ],
)
def test_a_flipped_bit_of_the_data_ends_every_command(project, capsys, line, option, name, dataset):
    """Before a step is trained and before anything is written."""
    path = damaged_copy(name, dataset)
    if " x" not in line and option:
        line += " --output x"
    if line.startswith((PRETRAIN, FINETUNE)):
        line += " --checkpoints ck/x"
    message = refused(f"{line} {option} {path}", capsys)
    assert message.startswith(f"dna-bigbird: error: {path}: damaged: "), message
    assert message.count("\n") == 1
    assert not any((project / created).exists() for created in ("x", "y", "ck/x"))


def test_flipped_bits_of_scores_end_evaluate(project, capsys):
    path = damaged_copy("kmer.h5", "scores")
    line = 'evaluate --genome toy.fa --model promoter --data set.h5 --baselines {"kmer":"%s"} '
    message = refused(f"{line % path} --output x --report y", capsys)
    assert f"{path}: damaged: the sha256 of scores is" in message
    assert not (project / "x").exists()


def test_one_process_of_a_machine_verifies_the_stores(project, monkeypatch, capsys):
    """The second process of a machine relies on the first, which ends the run if there is damage."""
    calls = []

    def stop(*_, **__):
        raise InputError("before the first step")

    monkeypatch.setattr(TokenStore, "verify", lambda self, progress: calls.append(self.path.name))
    monkeypatch.setattr("dna_bigbird.pipeline.pretraining_run.fit", stop)
    monkeypatch.setenv("LOCAL_RANK", "1")
    line = f"{PRETRAIN} --output never --checkpoints ck/never"
    assert "before the first step" in refused(line, capsys)
    assert calls == []
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert "before the first step" in refused(line, capsys)
    assert calls == ["train.h5", "validation.h5"]


@pytest.fixture(scope="module")
def more_inputs(project):
    """Small inputs of the commands that the project does not run."""
    (project / "v.vcf").write_text(
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    )
    (project / "peaks.tsv").write_text("label\tgroup\tcell\tpath\nCTCF\tTF\tK562\tsites.bed\n")
    (project / "some.chain").write_text(
        "chain 1 chr1 60000 + 0 60000 chr1 60000 + 0 60000 1\n60000\n\n"
    )
    (project / "options.yaml").write_text("window: 100\n")
    shutil.copy(SPEC, project / SPEC.name)
    (project / "corpus.txt").write_text("A line of text.\n")


SPEC = Path(__file__).parents[2] / "data_specs" / "hg38_to_hg19_chain.yaml"
PROMOTER = (
    "promoter/config.json promoter/model.safetensors promoter/tokenizer.model promoter/metrics.json"
)
SPLIT = "--split.validation [chr1:40001-50000] --split.test [chr1:50001-60000]"
READERS = [
    ("info promoter", PROMOTER),
    ("info train.h5", "train.h5"),
    ("info set.h5", "set.h5"),
    ("genome --inputs [toy.fa] --output never", "toy.fa"),
    ("documents --genome toy.fa --output never", "toy.fa"),
    (
        "train-tokenizer --genome toy.fa --documents train.bed.gz --output never --metrics never2",
        "toy.fa train.bed.gz",
    ),
    (
        "tokenize --genome toy.fa --documents train.bed.gz --tokenizer bpe.model --output never",
        "toy.fa train.bed.gz bpe.model",
    ),
    (
        "token-statistics --store train.h5 --genome toy.fa --tokenizer bpe.model --output never "
        "--repeats sites.bed",
        "train.h5 toy.fa bpe.model sites.bed",
    ),
    (f"{PRETRAIN} --output never --checkpoints never2", "train.h5 validation.h5 bpe.model"),
    (
        "evaluate-lm --model pretrained --train train.h5 --test test.h5 --output never --report "
        "never2 --genome toy.fa --examples 2",
        "train.h5 test.h5 toy.fa pretrained/config.json pretrained/model.safetensors",
    ),
    (
        f"promoter-set --genome toy.fa --sites sites.bed --output never --assembly x {SPLIT}",
        "toy.fa sites.bed",
    ),
    (
        f"chromatin-set --genome toy.fa --peaks peaks.tsv --output never --assembly x {SPLIT}",
        "toy.fa peaks.tsv sites.bed",
    ),
    (
        "lift-over --input sites.bed --chain some.chain --output never --unlifted never2",
        "sites.bed some.chain",
    ),
    ("leakage --genome toy.fa --data set.h5 --output never", "toy.fa set.h5"),
    ("baseline --genome toy.fa --data set.h5 --output never", "toy.fa set.h5"),
    (
        f"{FINETUNE} --output never --checkpoints never2",
        "toy.fa set.h5 pretrained/config.json pretrained/model.safetensors",
    ),
    (
        'evaluate --genome toy.fa --model promoter --data set.h5 --baselines {"k":"kmer.h5"} '
        "--output never --report never2",
        f"toy.fa set.h5 kmer.h5 {PROMOTER}",
    ),
    ("ensemble --models [promoter,final/promoter] --output never", PROMOTER),
    (
        "predict --fasta toy.fa --bed sites.bed --model promoter --output never",
        f"toy.fa sites.bed {PROMOTER}",
    ),
    ("predict --fasta toy.fa --model promoter --config options.yaml", "options.yaml"),
    ("embed --fasta toy.fa --bed sites.bed --model promoter --output never.h5", "toy.fa sites.bed"),
    ("score-variants --vcf v.vcf --fasta toy.fa --model promoter", "v.vcf toy.fa"),
    ("mutagenesis --fasta toy.fa --region chr1:9-12 --model promoter", "toy.fa"),
    ("plot-attention --bundle promoter", "promoter/config.json"),
    ("convert --from promoter --to-huggingface never", PROMOTER),
    (f"fetch --spec {SPEC.name} --local toy.fa --output never", f"{SPEC.name} toy.fa"),
    ("text vocabulary --input corpus.txt --output never", "corpus.txt"),
]


@pytest.mark.parametrize(
    ("line", "path"), [(line, path) for line, paths in READERS for path in paths.split()]
)
def test_a_file_that_may_not_be_read(project, more_inputs, line, path, capsys):
    """It is named with the reason; it is not called damaged, and nothing is written."""
    before = {p.name for p in project.iterdir()}
    mode = (project / path).stat().st_mode
    (project / path).chmod(0)
    try:
        with permissions_count():
            error = refused(line, capsys)
    finally:
        (project / path).chmod(mode)
    last = error.splitlines()[-1]
    assert last.startswith("dna-bigbird: error: ")
    assert path in last
    assert "no permission" in last
    assert "please report" not in last
    assert {p.name for p in project.iterdir()} <= before | {"toy.fa.fai", "never2"}


def test_checkpoints_that_may_not_be_read_are_not_overwritten(project, capsys):
    """The command would have begun again at step 0, over the good states, with exit status 0."""
    shutil.copytree("checkpoints/pretrained", "ck/mine")
    states = sorted(Path("ck/mine").glob("*.ckpt"))
    contents = [path.read_bytes() for path in states]
    for path in states:
        path.chmod(0)
    try:
        with permissions_count():
            error = refused(f"{PRETRAIN} --output never --checkpoints ck/mine", capsys)
    finally:
        for path in states:
            path.chmod(0o666)
    assert f"{states[-1]}: cannot read it now: Permission denied; nothing was changed" in error
    assert "training starts over" not in error
    assert [path.read_bytes() for path in sorted(Path("ck/mine").glob("*.ckpt"))] == contents
    run(f"{PRETRAIN} --output readable --checkpoints ck/mine")
    assert (
        Path("readable/model.safetensors").read_bytes()
        == Path("pretrained/model.safetensors").read_bytes()
    )
