"""Writes tests/formats/files/: one small file of every format, that later versions must read.

    python -m tools.format_fixtures FOLDER          new files; deepsea.h5 and rows have times of their inputs
    python -m tools.format_fixtures tests/formats/files --values-only      what the readers find in them now

The files in tests/ are kept when the code changes: only a new format adds one.
"""

import argparse
import contextlib
import gzip
import json
import shlex
import shutil
import tempfile
from pathlib import Path

import numpy as np

from dna_bigbird.core.result_folders import RECORD

MODEL = (
    "--model.hidden_size 8 --model.num_layers 1 --model.num_heads 2 --model.ffn_size 8 "
    "--model.max_tokens 64 --model.block_size 8 --model.num_random 1"
)
TRAINING = (
    "--training.max_steps 2 --training.validate_every 2 --training.warmup_steps 0 --training.batch_size 4 "
    "--training.precision 32-true --training.measure_speed false --seed 1 --threads 1"
)
FINETUNE = f"finetune --genome toy.fa --pretrained pretrained {TRAINING} --head.pooling mean"
SPLIT = "--split.validation chr1:8001-10000 --split.test chr1:10001-12000"
TEXT = f"text train --pretrained text-pretrained {TRAINING}"
COMMANDS = (
    "documents --genome toy.fa --regions chr1:1-8000 --output train.bed.gz --seed 1 --documents.min_sentences 4 "
    "--documents.max_sentences 8 --documents.min_sentence_bp 40 --documents.max_sentence_bp 80 --documents.max_start_bp 200 --documents.passes 2",
    "train-tokenizer --genome toy.fa --documents train.bed.gz --output bpe.model --metrics bpe.json --seed 1 --tokenizer.vocab_size 64",
    "tokenize --genome toy.fa --documents train.bed.gz --tokenizer bpe.model --output tokens.h5 --assembly toy",
    f"pretrain --train tokens.h5 --validation tokens.h5 --tokenizer bpe.model --output pretrained --checkpoints run {MODEL} "
    f"{TRAINING} --training.validation_examples 4",
    f"promoter-set --genome toy.fa --sites sites.bed --output promoter.h5 --assembly toy --seed 1 --upstream 60 --downstream 20 {SPLIT}",
    f"{FINETUNE} --data promoter.h5 --output promoter --checkpoints run-promoter",
    f"chromatin-set --genome toy.fa --peaks peaks.tsv --output chromatin.h5 --assembly toy --window 100 --bin 50 --require_group none {SPLIT}",
    f"{FINETUNE} --data chromatin.h5 --output chromatin --checkpoints run-chromatin",
    f"chromatin-set --genome toy.fa --peaks measured.tsv --output measured.h5 --assembly toy --window 100 --bin 50 --require_group none {SPLIT}",
    "sequence-set --input classes.csv --output sequences.h5 --seed 1",
    f"finetune --pretrained pretrained {TRAINING} --data sequences.h5 --output sequences --checkpoints run-sequences",
    "evaluate --genome toy.fa --model promoter --data promoter.h5 --output scored --report report --seed 1 --replicates 5 --threads 1",
    "predict --fasta toy.fa --model chromatin --format hdf5 --output predictions.h5 --stride 2000 --threads 1",
    "score-variants --vcf variants.vcf --fasta toy.fa --model chromatin --output variants.tsv --threads 1",
    "text made-data --output made --examples 24 --seed 0",
    f"text pretrain --train words.txt --validation words.txt --tokenizer spiece.model --output text-pretrained "
    f"--checkpoints run-text {MODEL} {TRAINING} --training.validation_examples 4",
    f"{TEXT} --task glue --set rte --train made/glue --validation made/glue --output classification --checkpoints run-glue --options.max_tokens 32",
    f"{TEXT} --task squad --set squad --train made/squad --validation made/squad --output questions --checkpoints run-squad "
    "--options.max_tokens 64 --options.max_question_tokens 24 --options.stride 16",
    f"{TEXT} --task summarization --set arxiv --train made/arxiv/arxiv-dataset --validation made/arxiv/arxiv-dataset --output summaries "
    "--checkpoints run-summaries --options.max_source_tokens 64 --options.max_target_tokens 16",
    "train-characters --input words.txt --output characters --checkpoints run-characters --seed 1 --threads 1 "
    "--model.hidden_size 8 --model.num_heads 2 --model.ffn_size 8 --model.causal_windows 4 --model.dilations 1 --model.dilated_heads 0 "
    "--training.phase_steps 2 --training.examples_per_step 2 --training.batch_size 2 --training.max_tokens 16 --training.longest 16 "
    "--training.validations 1 --training.precision 32-true",
)  # fmt: skip
KEPT = {
    **{name: name for name in (
        "pretrained", "promoter", "chromatin", "sequences", "text-pretrained", "classification", "questions", "summaries", "characters",
        "promoter.h5", "chromatin.h5", "measured.h5", "sequences.h5", "deepsea.h5", "predictions.h5", "variants.tsv",
    )},
    "report/scores.h5": "scores.h5", "run/*.ckpt": "checkpoint.ckpt",
    **{f"run-squad/rows-{x}.h5": f"rows-{x}.h5.gz" for x in ("train", "validation")}, "tokens.h5": "tokens.h5.gz",
}  # fmt: skip
"""Results (of several that match, the first) -> their names in the folder."""


def write_inputs() -> None:
    """Write a genome, sites, peaks, variants, sequences, text and its vocabulary to the current folder."""
    from tests.text_vocabulary import tiny_text_tokenizer

    rng = np.random.default_rng(0)
    letters = "".join(rng.choice(list("ACGT"), 12_000))
    Path("toy.fa").write_text(f">chr1\n{letters}\n")
    Path("sites.bed").write_text(
        "".join(f"chr1\t{s}\t{s + 1}\ts{s}\t0\t+\n" for s in range(300, 11_900, 400))
    )
    sheet = "label\tgroup\tcell\tpath\n"
    for number, name in enumerate(("CTCF", "DNase")):
        starts = range(200 + 100 * number, 11_800, 500)
        Path(f"{name}.bed").write_text("".join(f"chr1\t{s}\t{s + 150}\n" for s in starts))
        sheet += f"{name}\t{('TF', 'DNase')[number]}\tK562\t{name}.bed\n"
    Path("peaks.tsv").write_text(sheet)
    Path("regions.bed").write_text("chr1\t0\t5000\nchr1\t7000\t12000\n")
    Path("measured.tsv").write_text(
        sheet.replace("path\n", "path\tmeasured\n").replace(
            "DNase.bed\n", "DNase.bed\tregions.bed\n"
        )
    )
    rows = [
        f"chr1\t{at}\t.\t{letters[at - 1]}\t{'C' if letters[at - 1] != 'C' else 'A'}\t.\t.\t."
        for at in (900, 4000)
    ]
    Path("variants.vcf").write_text(
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
        + "\n".join(rows)
        + "\n"
    )
    table = [
        f"{''.join(rng.choice(list('ACGT'), 60))},{('low', 'mid', 'high')[i % 3]}"
        for i in range(60)
    ]
    Path("classes.csv").write_text("sequence,label\n" + "\n".join(table) + "\n")
    Path("spiece.model").write_bytes(tiny_text_tokenizer().files["spiece.model"])
    words = [
        "the",
        "river",
        "and",
        "a",
        "king",
        "in",
        "old",
        "castle",
        "was",
        "built",
        "by",
        "small",
        "people",
        "of",
        "north",
        "town",
        "with",
        "red",
        "stone",
    ]
    Path("words.txt").write_text(
        "".join(" ".join(rng.choice(words, 12)) + ".\n\n" for _ in range(150))
    )


def write_deepsea_set() -> None:
    """Write deepsea.h5 from a small bundle in the published layout."""
    from dna_bigbird.genome import Genome
    from tests.datasets.test_deepsea import Bundle

    rng = np.random.default_rng(1)
    fasta = "".join(
        f">{name}\n{''.join(rng.choice(list('ACGT'), 12_000))}\n" for name in ("chr1", "chr8")
    )
    folder = Path("deepsea")
    folder.mkdir()
    (folder / "hg19.fa").write_text(fasta)
    starts = [1000, 3000, 5200, 8800, 9000, 10_000, 10_600, 10_800]
    bundle = Bundle(folder, Genome(folder / "hg19.fa"), "chr1", "chr8", starts, [2000, 6000])
    bundle.write().read("--window=1000")
    shutil.move(folder / "set.h5", "deepsea.h5")


def write(folder: Path) -> None:
    """Run the commands in a temporary folder, and copy what is kept."""
    from dna_bigbird.cli.main import main

    folder.mkdir(parents=True, exist_ok=True)
    target = folder.resolve()
    with tempfile.TemporaryDirectory() as temporary, contextlib.chdir(temporary):
        write_inputs()
        write_deepsea_set()
        for line in COMMANDS:
            main(["-q", *shlex.split(line)])
        for pattern, name in KEPT.items():
            (source, *_) = sorted(Path().glob(pattern))
            if source.is_dir():
                shutil.copytree(source, target / name, ignore=lambda *_: [RECORD])
            elif name.endswith(".gz"):  # blocks that are mostly empty
                (target / name).write_bytes(gzip.compress(source.read_bytes(), mtime=0))
            else:
                shutil.copyfile(source, target / name)


def main() -> None:
    """Write the files and what the readers find in them."""
    from tests.formats.readers import values_of

    parser = argparse.ArgumentParser(
        prog="python -m tools.format_fixtures", description=__doc__.split("\n")[0]
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--values-only", action="store_true")
    options = parser.parse_args()
    if not options.values_only:
        write(options.folder)
    text = json.dumps(values_of(options.folder), indent=1, sort_keys=True)
    (options.folder / "values.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
