"""Attack records: what is written is read, and shards are put together in order."""

import json
import subprocess
import sys

import pytest

from muattack.attack.records import apply_edits, gather, read_attack, write_attack
from muattack.errors import InputError

HEADER = {"attack": {"recipe": "textfooler"}, "victim": "v", "dataset": "captions", "victim_sha256": "00", "texts": 5, "seed": 1, "versions": {}}


def record(number: int, **other) -> dict:
    base = {
        "id": f"t{number}", "label": 1, "original": f"text\u2028{number}\ud800", "adversarial": None, "edits": [], "status": "failed", "reason": "",
        "predicted_before": 1, "predicted_after": None, "score_before": 0.75, "score_after": None, "queries": number, "similarity": None, "words": 2,
        "words_changed": 0, "seconds": 0.5,
    }  # fmt: skip
    return {**base, **other}


def test_edits_apply_to_the_original():
    edits = [{"start": 0, "end": 1, "replacement": "A"}, {"start": 2, "end": 2, "replacement": "xx"}, {"start": 3, "end": 4, "replacement": ""}]
    assert apply_edits("abcd", edits) == "Abxxc"
    with pytest.raises(ValueError, match="does not fit"):
        apply_edits("abcd", [edits[1], edits[0]])


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [record(i) for i in range(4)] + [record(4, status="succeeded", adversarial="x\n", similarity=0.9, predicted_after=0)]
    write_attack(path, HEADER, rows)
    header, frame = read_attack(path)
    assert header == HEADER
    assert frame["original"].tolist() == [row["original"] for row in rows]
    assert frame["queries"].tolist() == [0, 1, 2, 3, 4]
    assert frame["predicted_after"].isna().tolist() == [True] * 4 + [False]
    assert frame["similarity"].iloc[4] == 0.9
    assert frame["adversarial"].iloc[0] is None


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7])
def test_any_number_of_shards_gathers_to_the_same_bytes(tmp_path, count):
    rows = [record(i) for i in range(5)]
    whole = tmp_path / "whole.jsonl"
    write_attack(whole, HEADER, rows)
    shards = [tmp_path / f"{shard}.jsonl" for shard in range(count)]
    for shard, path in enumerate(shards):
        write_attack(path, {**HEADER, "shard": shard, "shards": count}, rows[shard::count])
    gather(shards[::-1], tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == whole.read_bytes()


def test_shards_that_do_not_belong_together_are_refused(tmp_path):
    a, b, other = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    write_attack(a, {**HEADER, "shard": 0, "shards": 2}, [record(i) for i in (0, 2, 4)])
    write_attack(b, {**HEADER, "shard": 1, "shards": 2}, [record(1)])
    write_attack(other, {**HEADER, "seed": 2, "shard": 1, "shards": 2}, [record(1), record(3)])
    with pytest.raises(InputError, match="do not belong together"):
        gather([a, other], tmp_path / "out")
    with pytest.raises(InputError, match="Shards 0 of 2 are there"):
        gather([a], tmp_path / "out")
    with pytest.raises(InputError, match=r"Shard 1 of 2 .* holds 1 of 2 texts"):
        gather([a, b], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_that_are_no_records_are_named(tmp_path):
    path = tmp_path / "a.jsonl"
    for text, match in (
        ("", "do not begin with a header"),
        ('{"id": 1}\n', "do not begin with a header"),
        ("{broken\n", "not JSON"),
        ('{"header": true, "texts": 1}\n{"id": "a"}\n', "Line 2 .* lacks label"),
        ('{"header": true, "texts": 2}\n' + json.dumps(record(0)) + "\n", "hold 1 texts, but the header says 2"),
        ('{"header": true, "texts": 1}\n' + json.dumps(record(0, status="won")) + "\n", "status 'won'"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=match):
            read_attack(path)
    with pytest.raises(InputError, match="does not exist"):
        read_attack(tmp_path / "none")


def test_reading_and_choosing_import_neither_torch_nor_textattack():
    code = "import muattack.attack.records, muattack.attack.texts, sys; assert not {'torch', 'textattack', 'transformers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
