"""What it costs and gains that waiting OpenMP threads sleep instead of spinning.

    python -m benchmarks.speed waiting --threads 2
    python -m benchmarks.speed waiting --threads 2 --policies spin,passive,count1000,count3000,count10000
    python -m benchmarks.speed waiting --threads 2 --repeats 2 --only_quiet

Each wait policy has a process of its own, because the OpenMP library reads it once, when it is
loaded. The processes take turns in interleaved rounds: first with nothing else running, then next
to one busy process per processor. A ratio is the time of `spin` (the library's default) divided by
that of the policy, round by round: above 1 the policy is faster.
"""

import argparse
import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from benchmarks.lib.encoder_models import Batch, loss_of, own_logits
from benchmarks.lib.options import names
from benchmarks.lib.timing import MIN_ROUNDS, header, spread
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel

DEMO = EncoderConfig(  # config/config.yaml
    vocab_size=512, hidden_size=128, num_layers=4, num_heads=4, ffn_size=256, max_tokens=384,
    block_size=32, num_random=2, dropout=0.0,
)  # fmt: skip
POLICIES = {
    "spin": {},
    "passive": {"OMP_WAIT_POLICY": "PASSIVE"},
    "active": {"OMP_WAIT_POLICY": "ACTIVE"},
    "count1000": {"GOMP_SPINCOUNT": "1000"},
    "count3000": {"GOMP_SPINCOUNT": "3000"},
    "count10000": {"GOMP_SPINCOUNT": "10000"},
}
"""Variables of each policy; `spin` sets none (libgomp then spins 300,000 times)."""
VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
WORK = ("train", "score")
BATCH = {"train": 16, "score": 4}
STAT, QUIET = Path("/proc/stat"), 0.15
ALONE, CROWDED = "alone", "next to one busy process per processor"


def call_of(work: str) -> Callable[[], object]:
    """Return a training step of the demo's model, or the reading of four windows by it."""
    torch.manual_seed(0)
    model = PretrainingModel(DEMO)
    batch = Batch.draw(BATCH[work], DEMO.max_tokens, DEMO.vocab_size, "cpu")
    if work == "score":
        model.eval()
        return torch.inference_mode()(lambda: own_logits(model, batch, "predicted"))
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        loss_of(own_logits(model, batch, "predicted"), batch, "predicted").backward()
        optimizer.step()

    return step


def serve(work: str, threads: int) -> None:
    """Answer each line `repeats` on standard input with the clock and processor time of a call."""
    torch.set_num_threads(threads)
    call = call_of(work)
    for line in sys.stdin:
        clock, processor = time.perf_counter(), time.process_time()
        for _ in range(int(line)):
            call()
        elapsed = (time.perf_counter() - clock, time.process_time() - processor)
        print(*(value / int(line) for value in elapsed), flush=True)


@contextlib.contextmanager
def server(policy: str, work: str, threads: int) -> Iterator[Callable[[int], list[float]]]:
    """Yield a call that asks a process with this wait policy for its times."""
    environment = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.speed.waiting", "--serve", work, "--threads", str(threads)],
        env=environment | POLICIES[policy], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip

    def ask(repeats: int) -> list[float]:
        print(repeats, file=process.stdin, flush=True)
        return [float(value) for value in process.stdout.readline().split()]

    with process:
        yield ask
        process.stdin.close()


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep processors busy with loops that do nothing else."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def busy_s() -> float:
    """Return for how long all processors together were busy with anything; 0 if none tells."""
    if not STAT.exists():
        return 0.0
    user, nice, system, _, _, *rest = map(int, STAT.read_text().split("\n")[0].split()[1:])
    return (user + nice + system + sum(rest[:3])) / os.sysconf("SC_CLK_TCK")


def measure(
    work: str, options: argparse.Namespace, neighbours: int
) -> dict[str, list[list[float]]]:
    """Return the clock and processor times of every policy, round by round.

    Prints how many processors were busy with other programs: 0.0 on a quiet machine.
    """
    with contextlib.ExitStack() as stack:
        asks = {
            policy: stack.enter_context(server(policy, work, options.threads))
            for policy in options.policies
        }
        for ask in asks.values():
            ask(3)
        stack.enter_context(busy(neighbours))
        rounds, others, left_out = [], [], 0
        for turn in itertools.cycle((list(asks), list(asks)[::-1])):
            clock, machine = time.perf_counter(), busy_s()
            times = {policy: asks[policy](options.repeats) for policy in turn}
            own = options.repeats * sum(processor for _, processor in times.values())
            other = (busy_s() - machine - own) / (time.perf_counter() - clock)
            if options.only_quiet and other > QUIET:
                left_out += 1
                continue
            rounds.append(times)
            others.append(other)
            if len(rounds) == options.rounds:
                break
    print(
        f"# {work}, {neighbours} neighbours: {spread(others)} processors busy with other work, "
        f"{left_out} rounds left out"
    )
    return {policy: [times[policy] for times in rounds] for policy in asks}


def show(situation: str, work: str, times: dict[str, list[list[float]]]) -> None:
    """Print one line per policy."""
    for policy, rounds in times.items():
        cells = []
        for column in (0, 1):
            values = [part[column] for part in rounds]
            ratios = [
                base[column] / value for base, value in zip(times["spin"], values, strict=True)
            ]
            cells += [f"{1000 * spread(values).median:.1f}", str(spread(ratios))]
        print("\t".join([situation, work, policy, *cells]), flush=True)


def main(argv: list[str] | None = None) -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=MIN_ROUNDS)
    parser.add_argument("--repeats", type=int, default=20, help="calls in one turn of a round")
    parser.add_argument("--work", type=names(WORK), default=WORK)
    parser.add_argument("--policies", type=names(tuple(POLICIES)), default=("spin", "passive"))
    parser.add_argument(
        "--only_quiet",
        action="store_true",
        help="only alone, and only rounds in which other programs kept fewer than "
        f"{QUIET} processors busy",
    )
    parser.add_argument("--neighbours", type=int, default=os.cpu_count(), help="busy processes")
    parser.add_argument("--serve", choices=WORK, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.serve:
        serve(options.serve, options.threads)
        return
    if "spin" not in options.policies:
        parser.error("--policies: spin is what the others are compared with")
    print("\n".join(header("cpu")))
    print(f"# {options.rounds} rounds of {options.repeats} calls; {options.neighbours} neighbours")
    print("situation\twork\tpolicy\tclock_ms\tclock: spin / this\tcpu_ms\tcpu: spin / this")
    situations = [(ALONE, 0), (CROWDED, options.neighbours)][: 1 if options.only_quiet else 2]
    for situation, neighbours in situations:
        for work in options.work:
            show(situation, work, measure(work, options, neighbours))


if __name__ == "__main__":
    main()
