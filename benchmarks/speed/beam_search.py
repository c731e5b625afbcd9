"""Time writing summaries, ours and the library's `generate` with the same weights and settings.

    python -m benchmarks.speed beam_search                                    # both models: long
    python -m benchmarks.speed beam_search --sizes small --sources 1024 --targets 64      # minutes

A BigBird-Pegasus of random weights writes with five beams and the library's length formula
(length ** 0.8). The end id is held back by a bias, so both write all of `--targets` tokens. Their
tokens must be equal before anything is timed. `encode` is the encoder alone, `write` the encoder
and the search. Sources are random tokens, without padding. The library keeps its keys of the source
once a beam and puts them in order at every step; ours keeps them once a source.
"""

import argparse
import itertools
import time
from collections.abc import Callable

import torch
from torch import nn

from benchmarks.lib.options import add_common, add_cpu_time, lengths, names, start
from benchmarks.lib.timing import Case, header, interleaved, load, ratio, spread
from dna_bigbird.bundles.huggingface.summarizers import summarizer_folder
from dna_bigbird.models.beam_search import beam_search
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.summarizer import Summarizer
from dna_bigbird.models.text_config import SummaryHead

OURS, THEIRS = "ours", "hf"
ENCODE, WRITE = "encode", "write"
SHARED = {
    "norm_first": True, "norm_eps": 1e-5, "num_segments": 0, "qkv_bias": False,
    "output_bias": False, "scale_embeddings": True, "random_plan": "huggingface",
}  # fmt: skip
SIZES = {
    "small": EncoderConfig(
        vocab_size=8192, hidden_size=256, num_layers=4, num_heads=4, ffn_size=1024, init_std=0.06,
        **SHARED,
    ),
    "base": EncoderConfig(vocab_size=50358, **SHARED),
}  # fmt: skip
BEAMS, PENALTY = 5, 0.8


def library_twin(ours: Summarizer) -> nn.Module:
    """Return the library's model with the weights of ours.

    Raises:
        SystemExit: If the library is missing.
        ValueError: If a weight of ours has no place in it.
    """
    try:
        import transformers
    except ImportError as error:
        raise SystemExit(f"pip install transformers ({error})") from None
    written, tensors, _ = summarizer_folder(ours, {}, "the benchmark's model")
    del written["dtype"], written["model_type"]
    theirs = transformers.BigBirdPegasusForConditionalGeneration(
        transformers.BigBirdPegasusConfig(**written)
    )
    missing, unexpected = theirs.load_state_dict(tensors, strict=False)
    tied = {
        "lm_head.weight",
        "model.encoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight",
    }
    if unexpected or not set(missing) <= tied:
        raise ValueError(f"weights do not fit: missing {missing}, unexpected {unexpected}")
    return theirs.eval()


def build(size: str) -> Summarizer:
    """Return our model; no summary of its ends before it must."""
    config = SIZES[size]
    head = SummaryHead(coupled=False, logits_bias=True)
    model = Summarizer(config, head).eval()
    model.logits_bias[head.end_id] = -1e4
    return model


def calls_of(
    ours: Summarizer, theirs: nn.Module, ids_BT: torch.Tensor, target: int
) -> dict[tuple[str, str], Callable[[], torch.Tensor]]:
    """Return what is timed, by mode and name; `write` gives tokens without the start id."""
    is_padding_BT = torch.zeros_like(ids_BT, dtype=torch.bool)
    mask_BT = torch.ones_like(ids_BT)

    def encode() -> torch.Tensor:
        return ours.encoder(ids_BT, is_padding_BT)

    def library_encode() -> torch.Tensor:
        return theirs.get_encoder()(ids_BT, attention_mask=mask_BT).last_hidden_state

    def write() -> torch.Tensor:
        return beam_search(
            ours, ids_BT, is_padding_BT, beam_size=BEAMS, max_length=target,
            length_penalty=PENALTY, length_formula="library",
        )  # fmt: skip

    def library_write() -> torch.Tensor:
        return theirs.generate(
            ids_BT, attention_mask=mask_BT, num_beams=BEAMS, max_new_tokens=target,
            length_penalty=PENALTY, do_sample=False, early_stopping=False,
        )[:, 1:]  # fmt: skip

    return {
        (ENCODE, OURS): torch.inference_mode()(encode),
        (ENCODE, THEIRS): torch.inference_mode()(library_encode),
        (WRITE, OURS): write,
        (WRITE, THEIRS): library_write,
    }


def run(size: str, source: int, target: int, options: argparse.Namespace) -> None:
    """Check, time and print one model at one length."""
    ours = build(size)
    generator = torch.Generator().manual_seed(0)
    shape = (options.batch, source)
    ids_BT = torch.randint(107, ours.encoder.config.vocab_size, shape, generator=generator)
    calls = calls_of(ours, library_twin(ours), ids_BT, target)
    summaries, expected = calls[WRITE, OURS](), calls[WRITE, THEIRS]()
    if not torch.equal(summaries, expected):
        raise SystemExit(f"{size}, {source} tokens: the summaries differ")
    cases = {Case(source, mode, name): call for (mode, name), call in calls.items()}
    clock = time.process_time if options.cpu_time else time.perf_counter
    times, failed = interleaved(cases, options.rounds, "cpu", clock=clock)
    for case in times:
        slower = ratio(times, case._replace(name=THEIRS), case)
        cells = [f"{1000 * spread(times[case]).median:.4g}"]
        cells.append("-" if case.name == THEIRS or slower is None else str(slower))
        print(size, source, target, case.mode, case.name, *cells, sep="\t", flush=True)
    for case, why in failed.items():
        print(size, source, target, case.mode, case.name, f"not run: {why}", sep="\t")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=names(tuple(SIZES)), default=tuple(SIZES))
    parser.add_argument("--sources", type=lengths, default=(1024, 3072))
    parser.add_argument("--targets", type=lengths, default=(64, 256))
    parser.add_argument("--batch", type=int, default=1)
    add_cpu_time(parser)
    add_common(parser, only_cpu=True)
    options = parser.parse_args(arguments)
    start(parser, options)
    return options


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    options = parse(arguments)
    print("\n".join(header("cpu")))
    print(
        f"# {'processor' if options.cpu_time else 'clock'} time; {options.batch} sources at once, "
        f"{BEAMS} beams; tokens equal; median [lowest, highest] of {options.rounds} interleaved rounds"
    )
    print("model", "source", "target", "mode", "name", "median_ms", "hf / this", sep="\t")
    for size, source, target in itertools.product(options.sizes, options.sources, options.targets):
        run(size, source, target, options)
    print(f"# load after the run {load()}")


if __name__ == "__main__":
    main()
