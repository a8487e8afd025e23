"""The scripts of natural corruptions on a few rows, from training texts to table and figure."""

import json

import pandas as pd
import pytest

from muattack.config import check_config, corrupted_classifiers, overlay, read_config
from muattack.mutate.corrupt import load_base
from muattack.mutate.operator import Edit, apply_edits
from muattack.records import read_meta, read_records, write_records

SEVERITIES = [0.0, 0.5, 1.0]
# A hundred distinct words and more, many of them alike, as a base needs.
STEMS = ["paint", "clean", "light", "heavy", "quick", "sharp", "sweet", "round", "water", "stone", "plain", "grand", "brown", "green"]
WORDS = [stem + end for stem in STEMS for end in ("", "s", "ed", "er", "ing", "ly", "ness", "est")]
CONFIG = {
    "captions": {"source": "none"},
    "classification": {
        "datasets": {
            "imdb": {
                "labels": {"0": "negative", "1": "positive"},
                "train": {"files": ["a.jsonl"], "format": "jsonl", "text": ["text"], "label": "label"},
                "test": {"files": ["b.jsonl"], "format": "jsonl", "text": ["text"], "label": "label"},
            }
        },
        "defences": {"pgd_kpp": None, "freelb_pp": None},
    },
    "attacks": {"recipes": {"textfooler": None, "textbugger": None, "bert_attack": None}},
    "corrupted": {"severities": [0.5, 1.0]},
    "evaluate": {"bootstrap": 20},
}


@pytest.fixture
def config():
    return check_config(overlay(read_config(), CONFIG))


@pytest.fixture
def dataset(tmp_path):
    """Twenty texts to fit on and six to corrupt, with a tag that must stay."""
    rows = [(f"imdb-train-{k}", "train", " ".join(WORDS[5 * k : 5 * k + 14]), k % 2) for k in range(20)]
    rows += [(f"imdb-test-{k}", "test", f"A Quickly painted <br /> stone, {WORDS[7 * k]} and {WORDS[7 * k + 3]}!", k % 2) for k in range(6)]
    table = pd.DataFrame(rows, columns=["id", "split", "text", "label"]).assign(source="imdb").astype({"label": "int8"})
    write_records(tmp_path / "imdb.parquet", table.assign(image_id=table["id"]), {})
    return "imdb.parquet"


def fit(run, config, texts, **changes):
    block = {key: config["corrupted"][key] for key in ("base", "synonyms", "common_words", "min_length")} | changes
    return run("fit_corruptions", input={"texts": texts, "files": []}, output=["base.json"], params={"base": json.dumps(block), "data": "."})


def corrupt(run, config, texts, count=None):
    params = {"severities": json.dumps(SEVERITIES), "weights": json.dumps(config["corrupted"]["weights"]), "texts": count, "seed": 1}
    given = {"texts": texts, "base": "base.json"}
    done = run("corrupt_texts", input=given, output=["corrupted.parquet"], params=params, wildcards={"dataset": "imdb"})
    assert done.returncode == 0, done.stderr


def test_from_training_texts_to_table_and_figure(run, config, dataset, tmp_path, monkeypatch):
    done = fit(run, config, dataset)
    assert done.returncode == 0, done.stderr
    base = load_base(tmp_path / "base.json")
    # The words of the training texts, which the test texts have no part in.
    assert "painted" in base.words
    assert "quickly" in base.words
    assert base.facts["corpus"]["words"] == 20 * 14

    corrupt(run, config, dataset)
    table = read_records(tmp_path / "corrupted.parquet")
    assert table["severity"].tolist() == [severity for severity in SEVERITIES for _ in range(6)]
    clean, middle, most = (table[table["severity"] == severity].reset_index(drop=True) for severity in SEVERITIES)
    assert clean["text"].equals(clean["original"])
    assert set(clean["reason"]) == {"severity 0"}
    for low, high in zip(middle.itertuples(), most.itertuples(), strict=True):
        edits = [Edit(**edit) for edit in high.edits]
        assert apply_edits(high.original, edits) == high.text != high.original
        assert "<br />" in high.text
        assert {edit["start"] for edit in low.edits} <= {edit.start for edit in edits}
    meta = read_meta(tmp_path / "corrupted.parquet")
    assert [entry["words"] for entry in meta["severities"]] == [clean["words"].sum()] * 3
    assert meta["base"] == base.facts

    (tmp_path / "my_judge.py").write_text("def positive(texts):\n    return [len(text) % 7 / 6 for text in texts]\n")
    monkeypatch.syspath_prepend(tmp_path)
    given = {"texts": "corrupted.parquet", "classifier": "my_judge:positive", "encoder": []}
    judge = {"dataset": "imdb", "judge": "plain"}
    done = run("score_corrupted", input=given, output=["plain.parquet"], params={"threads": 1}, wildcards=judge)
    assert done.returncode == 0, done.stderr
    scores = read_records(tmp_path / "plain.parquet")
    assert scores[["severity", "id", "label"]].equals(table[["severity", "id", "label"]].astype({"label": "int64"}))
    assert scores["score"].tolist() == pytest.approx([len(text) % 7 / 6 for text in table["text"]])
    assert ((scores["score"] >= 0.5) == (scores["predicted"] == 1)).all()

    assert corrupted_classifiers(config) == [("imdb", "plain")]
    made = {"csv": "severity.csv", "md": "severity.md"}
    params = {"datasets": json.dumps(["imdb"]), "judges": json.dumps([["imdb", "plain"]]), "config": json.dumps(config)}
    given = {"texts": ["corrupted.parquet"], "scores": ["plain.parquet"]}
    done = run("write_severity_tables", input=given, output=made, params=params)
    assert done.returncode == 0, done.stderr
    severity = pd.read_csv(tmp_path / "severity.csv")
    assert len(severity) == 3 + 2 + 3
    accuracy = severity[severity["metric"] == "accuracy"].set_index("severity")
    for level in SEVERITIES:
        part = scores[scores["severity"] == level]
        assert accuracy.loc[level, "value"] == pytest.approx((part["label"] == part["predicted"]).mean())
    assert accuracy["published"].tolist() == [0.87, 0.75, 0.64]
    page = (tmp_path / "severity.md").read_text(encoding="utf-8")
    assert "n = 6 test texts at every severity (negative 3, positive 3)" in page
    assert "training texts of imdb (280 words" in page
    said = [f"{100 * scores.loc[scores['severity'] == level, 'predicted'].mean():.1f} % at" for level in (0, 1)]
    assert f"Called positive: plain {said[0]} severity 0, {said[1]} 1 (true: 50.0 %)" in page

    done = run("plot_severity", input={"table": "severity.csv"}, output={"png": "s.png", "svg": "s.svg"}, params={"config": json.dumps(config)})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "s.png").stat().st_size > 10_000
    assert "published (corrupted-text)" in (tmp_path / "s.svg").read_text(encoding="utf-8")


def test_a_base_of_ones_own_and_some_of_the_texts(run, config, dataset, tmp_path):
    assert fit(run, config, dataset, synonyms="none").returncode == 0
    (tmp_path / "base.json").rename(tmp_path / "mine.json")
    # What a fitted base brings along is not asked of the configuration.
    assert fit(run, config, [], base="mine.json", synonyms="own").returncode == 0
    assert (tmp_path / "base.json").read_bytes() == (tmp_path / "mine.json").read_bytes()
    corrupt(run, config, dataset, 4)
    few = read_records(tmp_path / "corrupted.parquet")
    assert len(few) == 3 * 4
    corrupt(run, config, dataset, 5)
    more = read_records(tmp_path / "corrupted.parquet")
    # One text more, and the others as they were.
    both = few.merge(more, on=["severity", "id"], suffixes=("", "_more"))
    assert len(both) == len(few)
    assert (both["text"] == both["text_more"]).all()

    (tmp_path / "few.txt").write_text("far too little\n")
    done = fit(run, config, [], base="few.txt")
    assert done.returncode == 1
    assert "The base corpus few.txt has 3 distinct words, but a base needs at least 100" in done.stderr
    assert "Traceback" not in done.stderr
