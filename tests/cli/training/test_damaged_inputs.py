"""Inputs with a flipped bit end every command before it computes or writes."""

from pathlib import Path

import h5py
import pytest

from tests.cli.training.conftest import NEVER_WRITTEN
from tests.toy_project import FINETUNE, PRETRAIN, refused


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
        (f"baseline {LABELLED} --method cnnprom", "--data", "set.h5", "labels/bits"),
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
    assert not any((project / created).exists() for created in NEVER_WRITTEN)


def test_flipped_bits_of_scores_end_evaluate(project, capsys):
    path = damaged_copy("kmer.h5", "scores")
    line = 'evaluate --genome toy.fa --model promoter --data set.h5 --baselines {"kmer":"%s"} '
    message = refused(f"{line % path} --output x --report y", capsys)
    assert f"{path}: damaged: the sha256 of scores is" in message
    assert not (project / "x").exists()
