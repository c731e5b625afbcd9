"""benchmarks/furthest.py: the task is what it says, and the table and the picture are written."""

import torch


def test_answers_are_labels_of_the_furthest_vector(script):
    furthest = script("furthest")
    x, answers, _ = furthest.draw(3, 12, torch.Generator().manual_seed(0))
    for row, answer in zip(x, answers, strict=True):
        vectors, labels = row[:, : furthest.DIMS], row[:, furthest.DIMS :].argmax(dim=1)
        for i, vector in enumerate(vectors):
            distances = [(vector - other).norm().item() for other in vectors]
            assert answer[i] == labels[distances.index(max(distances))]


def test_a_small_run(script, tmp_path, capsys):
    furthest = script("furthest")
    threads = torch.get_num_threads()
    furthest.main(
        ["--output", str(tmp_path), "--vectors", "8", "64", "--steps", "3", "--hidden", "16"]
    )
    torch.set_num_threads(threads)
    lines = (tmp_path / "furthest.tsv").read_text().splitlines()
    rows = [dict(zip(lines[0].split("\t"), line.split("\t"), strict=True)) for line in lines[1:]]
    assert [(row["arm"], row["vectors"]) for row in rows] == [
        (arm, count) for count in ("8", "64") for arm in furthest.ARMS
    ]
    reads = {(row["arm"], row["vectors"]): float(row["read"]) for row in rows}
    assert reads["full, 1 layer", "64"] == 1
    assert 0.3 < reads["sparse, 1 layer", "64"] < 0.7  # 6 of 16 blocks, and two global ones
    assert (tmp_path / "furthest.png").read_bytes().startswith(b"\x89PNG")
