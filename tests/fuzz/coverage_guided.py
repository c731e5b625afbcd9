"""Fuzzes the readers of files, led by the branches that an input takes (atheris, libFuzzer): `make fuzz`.

    python -m tests.fuzz.coverage_guided [READER ...] [--seconds 600] [--folder .cache/fuzz]
    python -m tests.fuzz.coverage_guided READER --input FILE

A reader gives a result or raises InputError; another exception, a signal, more than `HANG_S` or more than 2 GiB
is a finding. It is kept as FOLDER/READER/findings/*, with the traceback beside it, and the second call repeats
it, without atheris. What was found interesting stays in FOLDER/READER/corpus for the next run.
"""

import argparse
import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

HANG_S = 60
MAX_BYTES = 8192
MAX_RESTARTS = 20
"""An input that ends the process ends it again soon; the rest of the time is for the other readers."""


def checked(reader: str, folder: Path) -> tuple[Callable[[bytes], None], list[bytes]]:
    """Return what gives an input to a reader, and its corpus; of several forms the first byte chooses."""
    from dna_bigbird.core.errors import InputError
    from tests.fuzz.guided_readers import READERS

    forms = READERS[reader](folder)

    def give(content: bytes) -> None:
        form = forms[content[0] % len(forms) if content else 0]
        form.path.write_bytes(content[1:])
        with contextlib.suppress(InputError):
            form.read(form.path)

    return give, [bytes([i]) + seed for i, form in enumerate(forms) for seed in form.seeds]


def dictionary(seeds: list[bytes]) -> str:
    """Return the words of the seeds, and what damaged files hold, as libFuzzer reads them."""
    from tests.fuzz.inputs import SNIPPETS

    words = dict.fromkeys(re.findall(rb'"?[A-Za-z_#@<>=!&*.-]{2,20}"?:?', b"\n".join(seeds)))
    words = [*[x for x in SNIPPETS if 0 < len(x) < 64], *list(words)[:400]]
    return "".join('"{}"\n'.format("".join(f"\\x{x:02x}" for x in word)) for word in words)


def place_of(error: BaseException) -> str:
    """Return where in the package an exception comes from: what makes two findings one."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/dna_bigbird/" in frame.filename]
    return f"{type(error).__name__} {ours[-1].filename}:{ours[-1].lineno}" if ours else repr(error)


def fuzz(reader: str, seconds: float, folder: Path) -> None:
    """Fuzz within this process until it has used so many seconds of a processor."""
    import atheris

    with atheris.instrument_imports(include=["dna_bigbird"]):
        from tests.fuzz.crash_child import limit_memory

        give, seeds = checked(reader, folder / "files")
    for number, seed in enumerate(seeds):
        (folder / "seeds" / str(number)).write_bytes(seed)
    (folder / "words.txt").write_text(dictionary(seeds))

    def run(content: bytes) -> None:
        try:
            give(content)
        except Exception as error:
            name = hashlib.sha256(place_of(error).encode()).hexdigest()[:12]
            found = folder / "findings" / f"exception-{name}"
            if not found.exists():
                found.write_bytes(content)
                found.with_suffix(".txt").write_text(traceback.format_exc())
        if time.process_time() > seconds:
            os.kill(os.getpid(), signal.SIGUSR1)  # libFuzzer ends after this input

    limit_memory()
    options = {
        "max_len": MAX_BYTES, "timeout": HANG_S, "report_slow_units": HANG_S, "rss_limit_mb": 0, "print_final_stats": 1,
        "dict": folder / "words.txt", "artifact_prefix": f"{folder}/findings/",
    }  # fmt: skip
    flags = [f"-{name}={value}" for name, value in options.items()]
    atheris.Setup([sys.argv[0], *flags, str(folder / "corpus"), str(folder / "seeds")], run)
    atheris.Fuzz()


def run_reader(reader: str, seconds: float, folder: Path) -> str:
    """Fuzz a reader in child processes; return its row of a table."""
    for name in ("corpus", "seeds", "findings"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    log, used, inputs = "", 0.0, 0
    for _ in range(MAX_RESTARTS):
        shutil.rmtree(folder / "files", ignore_errors=True)
        (folder / "files").mkdir()
        argv = ["-X", "faulthandler", "-m", __spec__.name, reader, "--within"]
        argv += [f"--seconds={seconds - used}", f"--folder={folder}"]
        before = sum(os.times()[2:4])
        with open(folder / "log.txt", "w+", encoding="utf-8", errors="replace") as stream:
            done = subprocess.run([sys.executable, *argv], stdout=stream, stderr=stream)
            stream.seek(0)
            log = stream.read()
        used += sum(os.times()[2:4]) - before
        inputs += int((re.findall(r"number_of_executed_units: (\d+)", log) or [0])[-1])
        if done.returncode == 0 or used > seconds - 10:
            break
    covered = (re.findall(r"cov: (\d+) ft: (\d+)", log) or [("?", "?")])[-1]
    findings = [x for x in (folder / "findings").iterdir() if x.suffix != ".txt"]
    cells = (reader, f"{used / 60:.1f}", f"{inputs:,}", *covered, len(findings))
    return "| " + " | ".join(map(str, cells)) + " |"


def _all_readers() -> list[str]:
    from tests.fuzz.guided_readers import READERS

    return list(READERS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("readers", nargs="*")
    parser.add_argument("--seconds", type=float, default=600, help="of a processor, per reader")
    parser.add_argument("--folder", type=Path, default=Path(".cache/fuzz"))
    parser.add_argument("--input", type=Path, help="a finding to repeat")
    parser.add_argument("--within", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    if asked.input:
        with tempfile.TemporaryDirectory() as scratch:
            give, _ = checked(asked.readers[0], Path(scratch))
            give(asked.input.read_bytes())
    elif asked.within:
        fuzz(asked.readers[0], asked.seconds, folder)
    else:
        print("| reader | processor minutes | inputs | edges | features | findings |")
        print("|---|---|---|---|---|---|")
        for reader in asked.readers or _all_readers():
            print(run_reader(reader, asked.seconds, folder / reader), flush=True)


if __name__ == "__main__":
    main()
