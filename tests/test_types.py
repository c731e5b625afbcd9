"""What a type checker sees of the public functions, if mypy is installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

ROOT = Path(__file__).parents[1]
SCRIPT = """\
from pathlib import Path
from dna_bigbird import evaluate, finetune, load_bundle, predict, score_variants

model = load_bundle("models/promoter")
reveal_type(model)
reveal_type(predict(sequences=["ACGT"], model=[model, "other", Path("third")], device="cpu"))
reveal_type(finetune("genome.fa", "set.h5", "pretrained", "model", "checkpoints"))
predict(sequences=3)
predict("regions.fa", strand="reverse")
"""


@pytest.mark.slow
def test_mypy_shows_results_and_refuses_wrong_arguments(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--follow-imports=silent"]
    done = subprocess.run(
        [*command, script.name],
        cwd=tmp_path, env=os.environ | {"MYPYPATH": str(ROOT)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    lines = [line.partition(": ")[2] for line in done.stdout.splitlines()]
    assert lines[0] == 'note: Revealed type is "dna_bigbird.bundles.bundle.Bundle"'
    assert lines[1].endswith(
        'results.Predictions | dna_bigbird.inference.results.WrittenPredictions"'
    )
    assert lines[2] == 'note: Revealed type is "dna_bigbird.pipeline.results.TrainedModel"'
    assert 'Argument "sequences" to "predict" has incompatible type "int"' in lines[3]
    assert 'Argument "strand" to "predict" has incompatible type' in lines[4]
    assert len(lines) == 6
