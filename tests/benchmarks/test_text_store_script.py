"""The script prints a row per size and way; its batches are read from the same rows both ways."""

import json
import re

from tests.text_vocabulary import tiny_text_tokenizer


def test_a_row_for_each_size_and_way(script, capsys, monkeypatch, tmp_path):
    text_store = script("text_store")
    tokenizer = tmp_path / "spiece.model"
    tokenizer.write_bytes(tiny_text_tokenizer().model_bytes)
    monkeypatch.setattr(text_store, "PARAGRAPHS", 3)
    monkeypatch.setattr(text_store, "DISTINCT", 2)
    # In this process: torch is imported once.
    monkeypatch.setattr(text_store, "measure", text_store.child)
    text_store.main(["--tokenizer", str(tokenizer), "--pages", "0", "3", "--folder", str(tmp_path)])
    rows = re.findall(r"^ +(\d+) +\S+ GB +(\d+) +(\w+) +(\S+) GB", capsys.readouterr().out, re.M)
    assert [row[2] for row in rows] == ["memory", "store", "again"] * 2
    assert [row[1] for row in rows] == ["1"] * 3 + ["3"] * 3
    assert all(0.01 < float(row[3]) < 50 for row in rows)
    assert list(tmp_path.iterdir()) == [tokenizer]
    text_store.write_pages(tmp_path / "pages", 3)
    pages = [json.loads(line) for line in (tmp_path / "pages").open()]
    assert [len(page["long_answer_candidates"]) for page in pages] == [3, 3, 3]
    assert [page["example_id"] for page in pages] == [0, 1, 2]
    assert pages[0]["document_tokens"] == pages[2]["document_tokens"] != pages[1]["document_tokens"]
