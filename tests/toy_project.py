"""A toy genome on which every DNA training command was run once, for tests of these commands."""

from pathlib import Path

import numpy as np
import pytest

from dna_bigbird.cli.main import main

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
    """Run a command line."""
    main(line.split())


def refused(line: str, capsys) -> str:
    """Run a command that must fail as a user error; return what it says."""
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2") as stop:
        run(line)
    assert stop.value.code == 2
    return capsys.readouterr().err


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return the contents of the files of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def make_project(folder: Path) -> Path:
    """Draw the genome and run the workflow on it; tests write only to names of their own."""
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
            "--report report/lm.json --seed 1 --examples 20 --genome toy.fa "
            "--example_scores report/examples.tsv"
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
