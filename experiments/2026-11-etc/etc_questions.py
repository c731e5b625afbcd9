"""Question answering with BigBird-ETC next to BigBird-ITC: the same steps on the same synthetic text.

    python experiments/2026-11-etc/etc_questions.py --folder results/etc-questions              # two trainings at once: minutes

Runs the target `text` of the workflow with experiments/2026-11-etc/etc_questions.yaml once for each form and seed, then prints
the official scores on validation examples, with bootstrap intervals over examples, and the best baseline that
needs no training. The band of ETC reads as many tokens as the window of ITC.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
SETTINGS = Path(__file__).with_suffix(".yaml")
FORMS = {
    "ITC": {},
    # three blocks of 16 tokens: 24 on either side; the made texts have few tokens
    "ETC": {"attention": "etc", "etc": {"radius": 24, "tokens_per_global": 16}},
}
SCORES = {
    "hotpotqa": ("f1", "sp_f1", "joint_f1"),
    "natural-questions": ("long_f1", "short_f1"),
    "triviaqa": ("f1",),
    "wikihop": ("accuracy",),
}


def run(form: str, seed: int, folder: Path, learning_rate: float) -> Path:
    """Run the workflow for one form and seed and return the folder of its results."""
    results = folder / f"{form.lower()}-{seed}"
    config = yaml.safe_load(SETTINGS.read_text())
    config |= {"name": f"etc-questions-{form.lower()}-{seed}", "seed": seed}
    config["results"] = str(results)
    config["text"]["model"] |= FORMS[form]
    config["text"]["training"]["learning_rate"] = learning_rate
    results.mkdir(parents=True, exist_ok=True)
    path = results / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    arguments = ["text", "--cores", "1", "--nolock", "--configfile", str(path)]
    log = results / "snakemake.log"
    with log.open("w") as output:
        code = subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, check=False,
        ).returncode  # fmt: skip
    if code:
        raise SystemExit(f"{form}, seed {seed}: failed, see {log}")
    return results


def cell(metrics: dict, score: str) -> str:
    """Return a score with its interval."""
    low, high = metrics[f"{score}_low"], metrics[f"{score}_high"]
    return f"{metrics[score]:.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Run all forms and seeds, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--learning_rate", type=float, default=0.003)
    options = parser.parse_args()
    jobs = [(form, seed) for seed in range(options.seeds) for form in FORMS]
    with ThreadPoolExecutor(options.processes) as pool:
        rest = (options.folder.resolve(), options.learning_rate)
        done = pool.map(lambda job: run(*job, *rest), jobs)
        folders = dict(zip(jobs, done, strict=True))
    print("| set | score | n | seed | ITC | ETC | best baseline |\n|---|---|---|---|---|---|---|")
    for task, scores in SCORES.items():
        for seed in range(options.seeds):
            metrics_of = {
                form: json.loads(
                    (
                        folders[form, seed] / "text" / "evaluation" / task / "metrics.json"
                    ).read_text()
                )
                for form in FORMS
            }
            baselines = metrics_of["ITC"]["baselines"]
            for score in scores:
                name = max(baselines, key=lambda label, key=score: baselines[label][key] or 0)
                cells = [cell(metrics_of[form], score) for form in FORMS]
                cells.append(f"{cell(baselines[name], score)} {name}")
                print(
                    f"| {task} | {score} | {metrics_of['ITC']['n']} | {seed} | {' | '.join(cells)} |"
                )


if __name__ == "__main__":
    main()
