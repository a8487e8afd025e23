"""Texts of the user's own: every format gives the same texts, every fault is named with file and row."""

import json

import pandas as pd
import pytest

from muattack.data.unpaired import FEWEST, collect_texts, read_texts
from muattack.errors import InputError

TEXTS = [f"Text {number}, with a comma and “quotes”." for number in range(12)]


def write(folder, kind):
    """Write TEXTS in a format; return the path."""
    frame = pd.DataFrame({"text": TEXTS, "prompt": [number // 2 for number in range(12)]})
    path = folder / f"texts.{ {'lines': 'txt'}.get(kind, kind) }"
    if kind == "lines":
        path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True, force_ascii=False)
    elif kind in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="," if kind == "csv" else "\t")
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        import datasets

        path = folder / "saved"
        datasets.Dataset.from_pandas(frame).save_to_disk(str(path))
    return path


@pytest.mark.parametrize("kind", ["lines", "jsonl", "csv", "tsv", "parquet", "huggingface"])
def test_every_format_gives_the_texts_as_they_are(tmp_path, kind):
    path = write(tmp_path, kind)
    assert [text for _, text, _ in read_texts(str(path), {"text": ["text"]})] == TEXTS
    if kind != "lines":
        groups = [str(group) for *_, group in read_texts(str(path), {"text": ["text"], "group": "prompt"})]
        assert groups == [str(number // 2) for number in range(12)]


@pytest.mark.parametrize(
    ("name", "content", "entry", "parts"),
    [
        ("a.txt", "one\n\ntwo\n", {}, ["a.txt, line 2, is blank"]),
        ("a.txt", "one\n", {"group": "prompt"}, ["line by line", "`group`"]),
        ("a.txt", "", {}, ["a.txt has no texts"]),
        ("a.csv", "body,prompt\nx,1\n", {}, ["no column 'text'", "'body', 'prompt'", "Mend `text`,"]),
        ("a.csv", "text,prompt\nx\n", {}, ["a.csv, row 1 (line 2), has 1 column, but the first line has 2"]),
        ("a.tsv", "text\n  \n", {}, ["a.tsv, row 1"]),
        ("a.jsonl", '{"text": "x"}\n{"txt": "y"}\n', {}, ["a.jsonl, row 2, lacks the column text"]),
        ("a.jsonl", '{"text": "x", "prompt": null}\n', {"group": "prompt"}, ["row 1: the group prompt is missing"]),
        ("a.doc", "x", {}, ["ending of the file", ".jsonl", "format: lines"]),
        ("a.parquet", "x", {}, ["not a Parquet file"]),
    ],
)
def test_faults_are_named_with_file_and_row(tmp_path, name, content, entry, parts):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_texts(str(path), {"text": ["text"], **entry})
    assert all(part in str(error.value) for part in parts), error.value


def sources(tmp_path, human=TEXTS, machine=TEXTS[::-1]):
    found = {}
    for name, texts in (("human", human), ("machine", machine)):
        path = tmp_path / f"{name}.txt"
        path.write_text("\n".join(texts), encoding="utf-8")
        found[name] = {"files": [str(path)], "text": ["text"]}
    return found


def test_every_text_is_an_image_of_its_own_and_all_are_tested(tmp_path):
    table, meta = collect_texts(sources(tmp_path, machine=TEXTS[:6] + [f"other {k}" for k in range(6)]), "none", {"test": 1.0}, 1)
    assert table["text"].tolist()[:12] == TEXTS
    assert table["image_id"].is_unique
    assert set(table["split"]) == {"test"}
    assert table["label"].tolist() == [0] * 12 + [1] * 12
    assert meta["texts_of_both_classes"] == 6
    assert meta["rows"] == {"human": 12, "machine": 12}
    # The numbers that tell texts apart are left, in lower case and without comma.
    assert collect_texts(sources(tmp_path), "paper", {"test": 1.0}, 1)[0]["text"][0] == "text 0 with a comma and “quotes”"


def test_texts_of_a_group_stay_in_one_split_across_sources(tmp_path):
    found = {}
    for name in ("human", "machine"):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(json.dumps({"text": f"{name} {k}", "prompt": k // 2}) for k in range(40)), encoding="utf-8")
        found[name] = {"files": [str(path)], "text": ["text"], "group": "prompt"}
    table, meta = collect_texts(found, "none", {"val": 0.3, "test": 0.7}, 1)
    assert meta["images"] == 20
    assert (table.groupby("image_id")["split"].nunique() == 1).all()
    assert table.groupby("split").size().to_dict() == {"test": 56, "val": 24}


def test_too_few_texts_are_refused(tmp_path):
    with pytest.raises(InputError, match=rf"only 9 texts of machine .*machine.txt.* at least {FEWEST}"):
        collect_texts(sources(tmp_path, machine=TEXTS[:9]), "none", {"test": 1.0}, 1)
