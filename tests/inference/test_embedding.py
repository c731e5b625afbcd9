"""`embed`: the encoder's own states, pooled by hand here; files and what cannot be done."""

import itertools
import json

import h5py
import numpy as np
import pytest
import torch

from dna_bigbird import embed, load_bundle
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError, Interrupted
from dna_bigbird.genome import reverse_complement
from dna_bigbird.prediction import embedder
from dna_bigbird.prediction.embedder import Embedder, layer_number

CLOSE = {"rtol": 0, "atol": 2e-5}
FLOAT32 = {"precision": "32-true"}


@pytest.fixture(scope="module")
def bundle(bundle_folder):
    return load_bundle(bundle_folder)


def states_of(bundle, bases, layers=2):
    """Token states by a forward hook's way: embeddings, then layer after layer, one sequence alone."""
    tokenizer, encoder = bundle.tokenizer, bundle.model.encoder
    ids = [tokenizer.cls_id, *tokenizer.encode(bases), tokenizer.sep_id]
    seen = []
    hooks = [encoder.norm.register_forward_hook(lambda *found: seen.append(found[-1]))]
    hooks += [
        layer.register_forward_hook(lambda *found: seen.append(found[-1]))
        for layer in encoder.layers
    ]
    with torch.no_grad():
        encoder(torch.tensor([ids]), torch.zeros(1, len(ids), dtype=torch.bool))
    for hook in hooks:
        hook.remove()
    return seen[layers][: len(ids)].numpy()


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize(
    ("pooling", "by_hand"),
    [
        ("mean", lambda states: states[1:-1].mean(axis=0)),
        ("max", lambda states: states[1:-1].max(axis=0)),
        ("cls", lambda states: states[0]),
    ],
)
def test_pooled_vectors_are_the_encoders_states(bundle, random_dna, layer, pooling, by_hand):
    texts = {"a": random_dna(200, 1), "b": random_dna(37, 2), "c": random_dna(200, 3)}
    found = embed(sequences=texts, model=bundle, pooling=pooling, layer=layer, **FLOAT32)
    for vector, bases in zip(found.vectors, texts.values(), strict=True):
        strands = [by_hand(states_of(bundle, s, layer)) for s in (bases, reverse_complement(bases))]
        np.testing.assert_allclose(vector, np.mean(strands, axis=0), **CLOSE)
    one = embed(
        sequences=texts, model=bundle, pooling=pooling, layer=layer, strand="forward", **FLOAT32
    )
    np.testing.assert_allclose(
        one.vectors[1], by_hand(states_of(bundle, texts["b"], layer)), **CLOSE
    )


def test_tokens_carry_their_bases(bundle, random_dna):
    """900 bp in windows of 500: the last one starts at 400, and its tokens count from there."""
    bases = random_dna(900, 4)
    found = embed(
        sequences={"n": "N" * 30, "a": bases}, model=bundle, pooling="tokens", window=500, **FLOAT32
    )
    assert found.sequence.tolist() == ["n", "a", "a"]
    assert found.start.tolist() == [0, 0, 400]
    assert found.offset[:2].tolist() == [0, 0]
    for row, (start, end) in enumerate(zip(found.start, found.end, strict=True)):
        if row == 0:
            continue
        mine = slice(found.offset[row], found.offset[row + 1])
        starts, ends = found.token_start[mine], found.token_end[mine]
        assert starts.tolist() == [start, *ends[:-1]]
        assert ends[-1] == end
        parts = [part for part in parts_of(bundle, bases[start:end]) if part]
        ids = np.concatenate([bundle.tokenizer.encode(part) for part in parts])
        pieces = [bundle.tokenizer.pieces[i] for i in ids]
        assert pieces == [bases[a:b] for a, b in zip(starts, ends, strict=True)]
        expected = np.concatenate([states_of(bundle, part)[1:-1] for part in parts])
        np.testing.assert_allclose(found.vectors[mine], expected, **CLOSE)


def parts_of(bundle, bases):
    """The fewest equal parts whose tokens fit the context of 126 tokens, on the strands given."""
    for count in range(1, 50):
        edges = np.rint(np.linspace(0, len(bases), count + 1)).astype(int)
        parts = [bases[a:b] for a, b in itertools.pairwise(edges)]
        if all(len(bundle.tokenizer.encode(part)) <= 126 for part in parts):
            return parts
    raise AssertionError


def test_a_long_window_is_the_mean_over_all_its_tokens(bundle, random_dna):
    bases = random_dna(1000, 5)
    options = {"model": bundle, "window": 1000, "strand": "forward", **FLOAT32}
    pooled = embed(sequences={"a": bases}, **options).vectors[0]
    tokens = embed(
        sequences={"a": bases}, model=bundle, window=1000, pooling="tokens", **FLOAT32
    ).vectors
    assert len(parts_of(bundle, bases)) > 1
    np.testing.assert_allclose(pooled, tokens.mean(axis=0), **CLOSE)
    largest = embed(sequences={"a": bases}, pooling="max", **options).vectors[0]
    np.testing.assert_allclose(largest, tokens.max(axis=0), **CLOSE)
    cls = embed(sequences={"a": bases}, pooling="cls", **options).vectors[0]
    parts = parts_of(bundle, bases)
    counts = [len(bundle.tokenizer.encode(part)) for part in parts]
    by_hand = np.average([states_of(bundle, p)[0] for p in parts], axis=0, weights=counts)
    np.testing.assert_allclose(cls, by_hand, **CLOSE)


def test_a_part_of_n_alone_has_no_tokens(bundle, random_dna):
    bases = random_dna(400, 6) + "N" * 400 + random_dna(400, 7)
    found = embed(sequences={"a": bases}, model=bundle, pooling="tokens", window=1200, **FLOAT32)
    covered = np.zeros(1200, bool)
    for start, end in zip(found.token_start, found.token_end, strict=True):
        covered[start:end] = True
    assert covered[:400].all()
    assert covered[800:].all()
    assert not covered.all()


def test_vectors_do_not_depend_on_neighbours(bundle, random_dna):
    texts = {str(i): random_dna(10 + 7 * i, i) for i in range(25)}
    together = embed(sequences=texts, model=bundle, **FLOAT32).vectors
    for batch_size in (1, 4):
        found = embed(sequences=texts, model=bundle, batch_size=batch_size, **FLOAT32).vectors
        np.testing.assert_allclose(found, together, **CLOSE)


@pytest.fixture
def fasta(tmp_path, random_dna):
    path = tmp_path / "in.fa"
    records = [("short", random_dna(90, 8)), ("gap", "N" * 250), ("längere", random_dna(450, 9))]
    path.write_text("".join(f">{name} text\n{bases}\n" for name, bases in records))
    return path


@pytest.mark.parametrize("pooling", ["mean", "tokens"])
def test_files_hold_what_memory_holds(bundle_folder, fasta, tmp_path, pooling):
    options = {"model": bundle_folder, "pooling": pooling, "layer": 1, **FLOAT32}
    wanted = vars(embed(fasta, **options))
    settings = [wanted.pop(name) for name in ("notes", "settings")][1]
    hdf5, npz = tmp_path / "out.h5", tmp_path / "out.npz"
    for path in (hdf5, npz):
        written = embed(fasta, output=path, assembly="toy", **options)
        assert (written.output, written.windows, written.hidden_size) == (path, 6, 32)
        assert written.settings == settings
    with h5py.File(hdf5) as file, np.load(npz, allow_pickle=False) as arrays:
        about = json.loads(str(arrays["about"]))
        for name, values in wanted.items():
            if values is None:
                assert name not in file
                continue
            stored = np.char.decode(file[name][:], "utf-8") if name == "sequence" else file[name]
            np.testing.assert_array_equal(stored, values)
            np.testing.assert_array_equal(arrays[name], values)
            assert arrays[name].dtype.kind == values.dtype.kind
        assert {name: file.attrs[name] for name in about if name != "inputs"} == {
            name: value for name, value in about.items() if name != "inputs"
        }
        assert json.loads(file.attrs["inputs"]) == about["inputs"]
    strand = "forward" if pooling == "tokens" else "both"
    assert about["command"] == (
        f"embed --pooling {pooling} --layer 1 --window 200 --stride 200 --strand {strand} "
        "--precision 32-true --float32_matmul default"
    )
    assert about["assembly"] == "toy"
    assert set(about["inputs"]) == {"fasta", "model", "model_config"}


@pytest.mark.parametrize("name", ["out.h5", "out.npz"])
def test_equal_inputs_give_equal_bytes(bundle_folder, fasta, tmp_path, name):
    found = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        embed(fasta, model=bundle_folder, output=tmp_path / folder / name, **FLOAT32)
        found.append((tmp_path / folder / name).read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("pooling", ["mean", "tokens"])
def test_an_interrupted_run_goes_on(bundle_folder, fasta, tmp_path, monkeypatch, pooling):
    monkeypatch.setattr(embedder, "CHUNK_BP", {"pooled": 100, "tokens": 100})
    options = {"model": bundle_folder, "pooling": pooling, **FLOAT32}
    whole, again = tmp_path / "whole.h5", tmp_path / "again.h5"
    embed(fasta, output=whole, **options)
    method = "pooled" if pooling == "mean" else "tokens"
    compute, calls = getattr(Embedder, method), []

    def counted(self, texts):
        calls.append(len(texts))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return compute(self, texts)

    monkeypatch.setattr(Embedder, method, counted)
    with pytest.raises(Interrupted, match="continue with --resume"):
        embed(fasta, output=again, **options)
    assert not again.exists()
    with pytest.raises(InputError, match="its layer was 2, now it is 1"):
        embed(fasta, output=again, resume=True, layer=1, **options)
    done = sum(calls[:2])
    calls[:] = [0, 0, 0]
    embed(fasta, output=again, resume=True, **options)
    assert sum(calls) == 6 - done
    assert again.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.h5", "in.fa", "whole.h5"]


def test_intervals_have_genome_coordinates(bundle, fasta, tmp_path):
    bed = tmp_path / "in.bed"
    bed.write_text("längere\t100\t300\tx\t0\t-\nshort\t0\t90\n")
    found = embed(fasta, bed, model=bundle, **FLOAT32)
    assert found.start.tolist() == [100, 0]
    assert found.end.tolist() == [300, 90]
    text = fasta.read_text().split()[-1]
    alone = embed(sequences={"x": text[100:300]}, model=bundle, **FLOAT32)
    np.testing.assert_allclose(found.vectors[0], alone.vectors[0], **CLOSE)


def test_the_command_writes_a_file_and_says_how(bundle_folder, fasta, tmp_path, capsys):
    output = tmp_path / "v.npz"
    options = f"--model {bundle_folder} --output {output} --pooling cls"
    main(["embed", "--fasta", str(fasta), *options.split()])
    assert "note: computed in " in capsys.readouterr().err
    with np.load(output, allow_pickle=False) as arrays:
        assert arrays["vectors"].shape == (6, 32)


def test_layers_are_counted_from_both_ends():
    assert [layer_number(n, 2) for n in (-3, -2, -1, 0, 1, 2)] == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 3}, r"^layer 3: the model has 2 layers; expected 0 \(embeddings\) to 2"),
        ({"pooling": "tokens", "strand": "both"}, "^pooling tokens reads one strand"),
        ({"workers": 2}, "^workers 2: embed computes in one process"),
        ({"resume": True}, "^resume and format need output"),
        ({"output": "v.txt"}, r"v\.txt: expected a name that ends in \.h5 or \.npz"),
        ({"output": "v.h5", "format": "npz"}, r"v\.h5 has the suffix of hdf5, but format is npz"),
        ({"window": 0}, "^window 0"),
        ({"stride": 0}, "^stride 0"),
        ({"sequences": {"a": "ACGT"}}, "expected DNA from one source"),
    ],
)
def test_what_cannot_be_done_is_said(bundle, fasta, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        embed(fasta, model=bundle, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["in.fa"]


def test_an_ensemble_is_refused(bundle, fasta):
    from dataclasses import replace

    many = replace(bundle, config=bundle.config | {"members": 2})
    with pytest.raises(InputError, match="an ensemble of 2 models, and embed takes a single model"):
        embed(fasta, model=many)
