"""What the public readers find in the files of tests/formats/files/, as JSON values."""

import gzip
import tempfile
from pathlib import Path

import h5py
import numpy as np
import torch

from tests.tiny_bundle import draw_dna

DNA_MODELS = ("promoter", "chromatin", "sequences")
TEXT_MODELS = ("text-pretrained", "classification", "questions", "summaries")
SETS = ("promoter", "chromatin", "measured", "sequences", "deepsea")


def values_of(folder: Path) -> dict[str, object]:
    """Return a few values of every file, by its name."""
    values: dict[str, object] = {
        "pretrained": pretrained(folder / "pretrained"),
        "copies": copies(folder / "copies"),
        "characters": characters(folder / "characters"),
        "scores.h5": scores(folder / "scores.h5"),
        "predictions.h5": predictions(folder / "predictions.h5"),
        "variants.tsv": (folder / "variants.tsv").read_text().splitlines(),
        "checkpoint.ckpt": checkpoint(folder / "checkpoint.ckpt"),
    }
    values |= {name: dna_model(folder / name) for name in DNA_MODELS}
    values |= {name: text_model(folder / name) for name in TEXT_MODELS}
    values |= {f"{name}.h5": labelled_set(folder / f"{name}.h5") for name in SETS}
    for name, read in (("tokens", tokens), ("rows-train", rows), ("rows-validation", rows)):
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / f"{name}.h5"
            path.write_bytes(gzip.decompress((folder / f"{name}.h5.gz").read_bytes()))
            values[path.name] = read(path)
    return values


def pretrained(path: Path) -> dict[str, object]:
    """The model of masked tokens: the first numbers of a vector."""
    import dna_bigbird

    vectors = dna_bigbird.embed(sequences=[draw_dna(150, seed=5)], model=path).vectors
    return {**_described(path), "vector": [float(x) for x in vectors.reshape(-1)[:6]]}


def copies(path: Path) -> dict[str, object]:
    """A model of masked tokens that copies: what it predicts in a sequence of its text."""
    from dna_bigbird import load_bundle

    bundle = load_bundle(path)
    ids = torch.as_tensor([2, *bundle.tokenizer.encode(draw_dna(60, seed=0)).tolist(), 3])[None]
    ids[0, 30] = bundle.tokenizer.mask_id
    with torch.no_grad():
        log_p, _ = bundle.model(ids, ids < 0, None, torch.tensor([30]))
    return {**_described(path), "log_p": log_p[0].tolist()}


def dna_model(path: Path) -> dict[str, object]:
    """A fine-tuned model: its probabilities of a fixed sequence."""
    import dna_bigbird

    table = dna_bigbird.predict(sequences=[draw_dna(150, seed=5)], model=path)
    return {**_described(path), "scores": [float(x) for x in table.probabilities.reshape(-1)[:6]]}


def text_model(path: Path) -> dict[str, object]:
    """A fine-tuned text model: logits, or hidden states, of a fixed text."""
    from dna_bigbird import load_bundle

    bundle = load_bundle(path)
    ids = torch.as_tensor(bundle.tokenizer.encode("the old river in a small town"))[None].long()
    is_padding = torch.zeros_like(ids, dtype=torch.bool)
    with torch.no_grad():
        states = bundle.model.encoder(ids, is_padding)
        parameters = sum(float(x.double().sum()) for x in bundle.model.parameters())
        values = {"states": states.flatten()[:6].tolist(), "sum_of_parameters": parameters}
        if bundle.config.task == "glue":
            values["logits"] = bundle.model(ids, is_padding)[0].tolist()
        if bundle.config.task == "squad":
            logits = bundle.model(ids, is_padding, torch.zeros_like(ids))[0]
            values["logits"] = logits.flatten()[:6].tolist()
        if bundle.config.task == "summarization":
            values["logits"] = bundle.model(ids, is_padding, ids[:, :3])[0, -1, :6].tolist()
    return {**_described(path), **values}


def _described(path: Path) -> dict[str, object]:
    from dna_bigbird import load_bundle

    bundle = load_bundle(path)
    return {
        "task": bundle.config.task,
        "labels": list(bundle.config.label_names),
        "hidden_size": bundle.config.encoder.hidden_size,
        "vocab_size": bundle.tokenizer.vocab_size,
    }


def characters(path: Path) -> dict[str, object]:
    """The character model: logits after three characters."""
    from dna_bigbird.bundles.character_model import load_character_model

    model, description = load_character_model(path)
    with torch.no_grad():
        logits = model(torch.tensor([[1, 2, 3]]))
    return {"vocab_size": description.model.vocab_size, "logits": logits[0, -1, :6].tolist()}


def tokens(path: Path) -> dict[str, object]:
    """The token store."""
    from dna_bigbird.corpus.token_store import TokenStore

    store = TokenStore(path)
    return {
        "documents": store.num_documents,
        "tokens": store.num_tokens,
        "assembly": store.assembly,
        "interval": str(store.document_interval(0)),
        "first": store.document(0)[:8].tolist(),
    }


def labelled_set(path: Path) -> dict[str, object]:
    """A labelled set: its rows, splits and labels."""
    from dna_bigbird.labelled.labelled_set import LabelledSet

    data = LabelledSet(path)
    splits = [str(x) for x in data.split]
    missing = int(np.isnan(data.labels).sum())
    return {
        "rows": len(data),
        "task": data.task,
        "labels": data.label_names[:5],
        "label_type": str(data.label_type),
        "splits": {name: splits.count(name) for name in sorted(set(splits))},
        "first": str(data.interval(0)),
        "sum_of_labels": float(np.nansum(data.labels)),
        **({"missing": missing} if missing else {}),
    }


def scores(path: Path) -> dict[str, object]:
    """Scores of a model on held-out rows."""
    from dna_bigbird.labelled.scores import read_scores

    frame = read_scores(path).to_dataframe()
    return {"rows": len(frame), "columns": list(frame.columns), "last": float(frame.iloc[0, -1])}


def predictions(path: Path) -> dict[str, object]:
    """Predictions as HDF5."""
    with h5py.File(path) as file:
        return {
            "format_version": int(file.attrs["format_version"]),
            "datasets": sorted(file),
            "shapes": {
                name: list(file[name].shape)
                for name in file
                if isinstance(file[name], h5py.Dataset)
            },
        }


def checkpoint(path: Path) -> dict[str, object]:
    """A checkpoint of a training."""
    from dna_bigbird.training.checkpoint_files import read_checkpoint

    content = read_checkpoint(path)
    return {
        "keys": sorted(content),
        "step": int(content["global_step"]),
        "sum_of_weights": sum(float(x.double().sum()) for x in content["state_dict"].values()),
    }


def rows(path: Path) -> dict[str, object]:
    """Rows of a text set."""
    from dna_bigbird.text.data.row_store import read_row_store

    stored, identity = read_row_store(path)
    row = stored.rows[0]
    return {
        "rows": len(stored.rows),
        "examples": len(stored.examples),
        "task": identity["task"],
        "first": [int(x) for x in row.token_ids[:8]],
        "arrays": sorted(row.arrays),
        "example": repr(stored.examples[0])[:200],
    }
