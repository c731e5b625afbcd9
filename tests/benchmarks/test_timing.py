"""Rounds, ratios, verdicts and peak memory."""

import functools

import pytest
import torch


@pytest.fixture
def timing(script):
    return script("timing")


class Clock:
    """A clock that calls push forward."""

    def __init__(self):
        self.now, self.called = 0.0, []

    def __call__(self):
        return self.now

    def takes(self, name, *seconds):
        """Return a call that takes these times, the last one for ever."""
        left = list(seconds)

        def call():
            self.called.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return call


def test_rounds_interleave_and_turn_round_and_the_first_warms_up(timing):
    clock = Clock()
    calls = {name: clock.takes(name, 100, 1 + i) for i, name in enumerate("abc")}
    times, failed = timing.interleaved(calls, 7, "cpu", clock=clock)
    assert "".join(clock.called) == "abc" + "abccba" * 3 + "abc"
    assert (times, failed) == ({"a": [1] * 7, "b": [2] * 7, "c": [3] * 7}, {})


def test_short_calls_are_repeated_and_still_count_once(timing):
    clock = Clock()
    calls = {"short": clock.takes("s", 9, 0.25), "long": clock.takes("l", 9, 2.0)}
    times, _ = timing.interleaved(calls, 7, "cpu", at_least_s=1.0, clock=clock)
    assert times == {"short": [0.25] * 7, "long": [2.0] * 7}
    assert clock.called.count("s") == 2 + 7 * 4
    assert clock.called.count("l") == 2 + 7


def test_a_case_that_fails_is_left_out_with_its_reason(timing):
    def fails():
        raise NotImplementedError("no backward on a CPU\nlong story")

    def too_big():
        torch.empty(2**55)

    calls = {"fails": fails, "too big": too_big, "works": Clock().takes("w", 1)}
    times, failed = timing.interleaved(calls, 7, "cpu")
    assert list(times) == ["works"]
    assert failed == {"fails": "no backward on a CPU", "too big": "does not fit into memory"}


def test_few_rounds_are_refused(timing):
    with pytest.raises(ValueError, match="rounds 6 is below 7"):
        timing.interleaved({}, 6, "cpu")


def test_a_ratio_is_taken_round_by_round(timing):
    slow, fast = timing.Case(1, "forward", "slow"), timing.Case(1, "forward", "fast")
    times = {slow: [4, 9, 8], fast: [2, 3, 8]}
    assert timing.ratio(times, slow, fast) == (2, 1, 3)
    assert str(timing.ratio(times, slow, fast)) == "2.00 [1.00, 3.00]"
    assert timing.ratio({slow: [1]}, slow, fast) is None


def lines(rows):
    return [row.line().split("\t") for row in rows if row.measured]


def test_targets_of_attention(timing, script):
    Case = timing.Case
    seconds = {
        Case(512, "forward", "auto"): 2,
        Case(512, "forward", "dense"): 1,
        Case(4096, "forward", "auto"): 1,
        Case(4096, "forward", "gather"): 1.5,
        Case(4096, "forward", "cpu_chunks"): 1,
        Case(4096, "forward", "dense"): 3.5,
        Case(65536, "forward", "gather"): 25,
        Case(65536, "forward", "cpu_chunks"): 24,
    }
    times = {case: [value] * 7 for case, value in seconds.items()}
    targets = script("targets").attention_targets(times, ("gather", "cpu_chunks"))
    assert lines(targets) == [
        [
            "dense / auto, forward, 4096 tokens",
            "3.50 [3.50, 3.50]",
            ">= 3",
            "met",
            ">= 4",
            "not met",
        ],
        [
            "never slower: dense / auto, forward, 512 tokens",
            *("0.50 [0.50, 0.50]", "-", "-", ">= 1", "not met"),
        ],
        [
            "never slower: dense / auto, forward, 4096 tokens",
            *("3.50 [3.50, 3.50]", ">= 1", "met", ">= 1", "met"),
        ],
        [
            "linear cost: cpu_chunks, forward, time per token at 65536 / at 4096",
            *("1.50 [1.50, 1.50]", "<= 1.8", "met", "<= 1.3", "not met"),
        ],
    ]


def test_targets_of_the_encoder(timing, script):
    seconds = {
        ("forward", "ours/bfloat16/predicted"): 2,
        ("forward", "ours/bfloat16/all"): 4,
        ("forward", "hf/float32/all"): 14,
        ("forward", "hf-compiled/float32/all"): 9,
        ("forward+backward", "ours/bfloat16/predicted"): 5,
        ("forward+backward", "hf/float32/all"): 30,
    }
    times = {timing.Case(4096, *key): [s] * 7 for key, s in seconds.items()}
    found = lines(script("targets").encoder_targets(times, "cpu"))
    assert ["  ".join(row) for row in found] == [
        "hf/float32/all / ours/bfloat16/predicted, forward, 4096 tokens  7.00 [7.00, 7.00]  "
        ">= 6  met  >= 8  not met",
        "hf/float32/all / ours/bfloat16/all, forward, 4096 tokens  3.50 [3.50, 3.50]  "
        ">= 6  not met  >= 8  not met",
        "hf-compiled/float32/all / ours/bfloat16/predicted, forward, 4096 tokens  "
        "4.50 [4.50, 4.50]  >= 3  met  >= 4  met",
        "hf-compiled/float32/all / ours/bfloat16/all, forward, 4096 tokens  2.25 [2.25, 2.25]  "
        ">= 3  not met  >= 4  not met",
        "hf/float32/all / ours/bfloat16/predicted, forward+backward, 4096 tokens  "
        "6.00 [6.00, 6.00]  >= 5  met  >= 7  not met",
    ]


def fill(megabytes, case):
    if case.name == "fails":
        raise ValueError("no such thing")
    return lambda: torch.zeros(megabytes[case.name] * 250_000).sum()


def test_peak_memory_is_that_of_the_call(timing, script):
    Case = timing.Case
    make = functools.partial(fill, {"small": 20, "large": 300})
    cases = [Case(1, "forward", name) for name in ("large", "fails", "small")]
    large, fails, small = script("memory").peaks(make, cases, "cpu").values()
    if isinstance(large, str):
        pytest.skip(f"this system does not say: {large}")
    assert large == pytest.approx(300e6, rel=0.05)
    assert fails == "no such thing"
    assert small == pytest.approx(20e6, rel=0.2)
