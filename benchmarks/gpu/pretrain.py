"""Pretrain a model of about 20 M parameters on real DNA for some minutes of one GPU.

    python -m benchmarks.gpu.pretrain --store train.h5 --validation validation.h5 \
        --tokenizer dna_bpe.model --minutes 8 --output results/gpu-pretrain/model
    python -m benchmarks.gpu.pretrain --join results/gpu-pretrain/model results/gpu-pretrain/bundle

The recipe is that of config/grch37-fast.yaml, the rates follow its rule by width. The learning rate rises in
the first twentieth of the time and then falls to 0 at its end. The output is a bundle with bfloat16
weights in pieces below 16 MiB. A call whose output (or --start) already has one starts from its weights,
with a new optimizer state, a new warm-up and other examples: it is not the continuation of one training.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

STARTED_AT = time.monotonic()

import torch  # noqa: E402

from benchmarks.gpu import pieces  # noqa: E402
from benchmarks.gpu.machine import machine  # noqa: E402
from benchmarks.gpu.pretrain_run import COLUMNS, SAVING_S, STORE_MIB, Run  # noqa: E402
from dna_bigbird.core.errors import InputError  # noqa: E402


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", type=Path, help=f"token store, at most {STORE_MIB} MiB")
    parser.add_argument("--validation", type=Path, help="token store of other regions")
    parser.add_argument("--tokenizer", type=Path, help="SentencePiece model of both")
    parser.add_argument("--minutes", type=float, default=8.0, help="of the whole call")
    parser.add_argument("--steps", type=int, default=0, help="most steps; 0: as time allows")
    parser.add_argument("--output", type=Path, help="folder of the model in pieces")
    parser.add_argument("--start", type=Path, help="that of a call before; default: --output")
    parser.add_argument("--join", type=Path, nargs=2, metavar=("PIECES", "BUNDLE"))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for name, default in (
        ("hidden_size", 384), ("layers", 8), ("heads", 6), ("max_tokens", 4096),
        ("block_size", 64), ("batch_size", 32), ("examples", 128), ("workers", 8), ("log_every", 50),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    parser.add_argument(
        "--backend", default="auto", help="of attention; part c of gpu.py times them"
    )
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args(arguments)
    needed = [x for x in ("store", "validation", "tokenizer", "output") if not getattr(options, x)]
    if needed and not options.join:
        parser.error(f"--{needed[0]} is missing")
    return options


def pretrain(options: argparse.Namespace, started_at: float) -> None:
    """Train, score and save."""
    run = Run(options, started_at)
    where = machine(torch.device(options.device).type)
    parameters = sum(p.numel() for p in run.task.model.parameters()) / 1e6
    print(f"# {'; '.join(f'{k} {v}' for k, v in where['versions'].items())}; {where['commit']}")
    print(f"# {parameters:.1f} M parameters; {run.training.precision}; start: {run.start.note}")
    log = list(run.start.log)

    def report(row: dict[str, Any]) -> None:
        log.append("\t".join(map(str, row.values())))
        print(log[-1], flush=True)

    print("\t".join(COLUMNS))
    before_at = time.monotonic()
    before = run.validate()
    began_at = time.monotonic()
    report(run.row(began_at, 0.0, validation=before["bits_per_base_masked"]))
    # The validation at the end takes as long as that at the start.
    run.train(began_at, run.ends_at - 2 * (began_at - before_at) - SAVING_S, report)
    with torch.no_grad():  # what is scored is what is saved
        for parameter in run.task.model.parameters():
            parameter.copy_(parameter.bfloat16())
    after = run.validate()
    report(run.row(began_at, 0.0, validation=after["bits_per_base_masked"]))
    run.save(after, log)
    first, last = before["bits_per_base_masked"], after["bits_per_base_masked"]
    print(
        f"# validation, {options.examples} examples: {first:.4f} to {last:.4f} bits per masked base"
    )
    print(f"# {options.output}: {len(list(options.output.iterdir()))} files")


def main(arguments: list[str] | None = None, started_at: float | None = None) -> None:
    """Pretrain, or join the pieces of a model."""
    options = parse(arguments)
    try:
        if options.join:
            pieces.join(*options.join)
        else:
            pretrain(options, time.monotonic() if started_at is None else started_at)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main(started_at=STARTED_AT)
