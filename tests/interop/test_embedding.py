"""`embed` of a converted model gives the library's hidden states."""

import numpy as np
import pytest
import torch

from dna_bigbird import embed, load_bundle
from dna_bigbird.cli.main import main


@pytest.fixture(scope="module")
def pair(library_model, save_library_model, tmp_path_factory):
    """The library's model and the bundle made from it."""
    folder = tmp_path_factory.mktemp("embed")
    (folder / "hf").mkdir()
    model = library_model("BigBirdForMaskedLM", hidden_size=32, intermediate_size=48)
    save_library_model(model, folder / "hf")
    main(["convert", "--from-huggingface", str(folder / "hf"), "--to", str(folder / "bundle")])
    return model, load_bundle(folder / "bundle")


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_hidden_states_are_those_of_the_library(pair, dna, layer):
    """5,000 bp are more than 704 tokens, so that its attention is the sparse one."""
    model, bundle = pair
    bases = dna(5000, 1)
    tokenizer = bundle.tokenizer
    ids = [tokenizer.cls_id, *tokenizer.encode(bases), tokenizer.sep_id]
    assert 704 < len(ids) < 4096
    with torch.no_grad():
        states = model.bert(torch.tensor([ids]), output_hidden_states=True).hidden_states
    expected = states[layer][0, 1 : len(ids) - 1].numpy()
    options = {"model": bundle, "layer": layer, "window": 5000, "precision": "32-true"}
    found = embed(sequences={"a": bases}, pooling="tokens", **options)
    np.testing.assert_allclose(found.vectors, expected, rtol=0, atol=1e-4)
    assert found.token_end[-1] == 5000
    mean = embed(sequences={"a": bases}, strand="forward", **options)
    np.testing.assert_allclose(mean.vectors[0], expected.mean(axis=0), rtol=0, atol=1e-4)
