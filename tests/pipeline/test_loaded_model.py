"""`load`: one model in memory, whose methods are the functions."""

import dataclasses
import inspect
from pathlib import Path

import numpy as np
import pytest

import dna_bigbird
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.prediction.loaded_model import LoadedModel, load
from dna_bigbird.training.label_config import LabelTrainConfig
from tests.tiny_bundle import draw_dna
from tests.toy_project import bytes_of

LEFT_OUT = {
    "predict": {"model"},
    "embed": {"model"},
    "score_variants": {"model"},
    "mutagenesis": {"model"},
    "attribute": {"model"},
    "finetune": {"pretrained", "tokenizer"},
}
"""Arguments of a function that its method lacks."""


@pytest.fixture(scope="module")
def genome(tmp_path_factory) -> Path:
    """A FASTA file and a VCF file next to it."""
    folder = tmp_path_factory.mktemp("genome")
    bases = draw_dna(900, seed=3)
    (folder / "toy.fa").write_text(f">chr1\n{bases}\n")
    alt = "A" if bases[400] != "A" else "C"
    (folder / "toy.vcf").write_text(
        f"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\nchr1\t401\tv1\t{bases[400]}\t{alt}\t.\t.\t.\n"
    )
    return folder / "toy.fa"


def assert_equal(first: object, second: object) -> None:
    """Compare the fields of two results, exactly."""
    assert type(first) is type(second)
    for field in dataclasses.fields(first):
        np.testing.assert_array_equal(getattr(first, field.name), getattr(second, field.name))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("predict", {"stride": 100, "labels": "*"}),
        ("embed", {"pooling": "max", "layer": 1}),
        ("mutagenesis", {"region": "chr1:401-405", "strand": "forward"}),
        ("score_variants", {"shifts": 3}),
        ("attribute", {"stride": 300, "labels": "CTCF"}),
    ],
)
def test_methods_give_what_the_functions_give(name, options, bundle_folder, genome):
    function, model = getattr(dna_bigbird, name), load(bundle_folder)
    arguments = [genome] if name != "score_variants" else [genome.with_suffix(".vcf"), genome]
    expected = function(*arguments, model=bundle_folder, device="cpu", **options)
    for _ in range(2):  # a call leaves the model as it was
        assert_equal(getattr(model, name)(*arguments, device="cpu", **options), expected)


def test_arguments_by_position_move_up(bundle_folder, genome, tmp_path):
    """The third argument of `mutagenesis` is the model, of the method the output."""
    load(bundle_folder).mutagenesis(genome, "chr1:401-402", tmp_path / "effects.tsv")
    assert len((tmp_path / "effects.tsv").read_text().splitlines()) == 3


def test_finetune_writes_what_the_function_writes(bundle_folder, tmp_path):
    rows = [f"{draw_dna(120, seed=i)},{i % 2},{'train' if i < 32 else 'val'}" for i in range(48)]
    (tmp_path / "rows.csv").write_text("\n".join(["sequence,label,split", *rows]) + "\n")
    dna_bigbird.sequence_set(tmp_path / "rows.csv", tmp_path / "set.h5")
    training = LabelTrainConfig(
        max_steps=4, batch_size=8, learning_rate=0.001, warmup_steps=1, validate_every=2
    )
    options = {"data": tmp_path / "set.h5", "training": training, "threads": 1, "progress": False}
    model = load(bundle_folder)
    before = {name: value.clone() for name, value in model.bundles[0].model.state_dict().items()}
    ours = model.finetune(output=tmp_path / "ours", checkpoints=tmp_path / "ours.state", **options)
    dna_bigbird.finetune(
        pretrained=bundle_folder, output=tmp_path / "theirs",
        checkpoints=tmp_path / "theirs.state", **options,
    )  # fmt: skip
    assert bytes_of(tmp_path / "ours") == bytes_of(tmp_path / "theirs")
    assert ours.max_steps == 4
    after = model.bundles[0].model.state_dict()
    assert all((after[name] == value).all() for name, value in before.items())


def test_several_models_are_averaged_and_some_methods_refuse_them(bundle_folder, genome):
    bundled = Path(dna_bigbird.__file__).parent / "bundles/data/tata"
    pair = load([bundle_folder, load_bundle(bundle_folder)])
    assert_equal(pair.predict(genome), dna_bigbird.predict(genome, model=[bundle_folder] * 2))
    with pytest.raises(InputError, match=r"^embed takes a single model, and 2 are loaded"):
        pair.embed(genome)
    with pytest.raises(InputError, match="models that are averaged must agree"):
        load([bundle_folder, bundled])
    with pytest.raises(InputError, match="names no model"):
        load([])


def test_it_describes_itself(bundle_folder):
    model = load(bundle_folder)
    assert (model.labels, model.window, model.task) == (["CTCF", "DNase"], 200, "chromatin")
    assert model.tokenizer is model.bundles[0].tokenizer
    assert model.summary().startswith(f"{bundle_folder}: chromatin, 2 labels, windows of 200 bp, ")
    assert model.info().text == dna_bigbird.bundles.info.info(bundle_folder).text
    assert "window=200" in repr(model)
    assert load().task == "promoter"


def test_wrong_arguments_name_the_method(bundle_folder, genome):
    model = load(bundle_folder)
    with pytest.raises(TypeError, match=r"^predict\(\) got .* 'windw'; did you mean 'window'\?"):
        model.predict(genome, windw=3)
    with pytest.raises(TypeError, match="multiple values for keyword argument 'model'"):
        model.predict(genome, model=bundle_folder)
    with pytest.raises(TypeError, match=r"^finetune\(\) got an unexpected .* 'tokenizer'"):
        model.finetune(tokenizer="bases")
    with pytest.raises(TypeError, match=r"^score_variants\(\) missing a required argument: 'vcf'"):
        model.score_variants()


@pytest.mark.parametrize("name", LEFT_OUT)
def test_signatures_are_those_of_the_functions(name):
    parameters = dict(inspect.signature(getattr(dna_bigbird, name)).parameters)
    for left_out in LEFT_OUT[name]:
        del parameters[left_out]
    method = inspect.signature(getattr(LoadedModel, name))
    assert list(method.parameters.values())[1:] == list(parameters.values())
    assert f"`dna_bigbird.{name}`" in getattr(LoadedModel, name).__doc__
