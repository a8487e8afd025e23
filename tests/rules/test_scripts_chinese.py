"""The scripts of the Chinese family on a few rows, from made-up reviews to table and figure."""

import json

import pandas as pd

from muattack.attack.records import read_lines
from muattack.config import check_config, overlay, read_config
from muattack.evaluate.transfer import CANNOT
from muattack.records import read_meta, read_records
from muattack.results import training_settings

SETS = {"rewrite": {"kind": "chinese", "method": "rewrite"}, "halves": {"kind": "chinese", "method": "splitting", "words": "characters"}}
ROWS = {"format": "jsonl", "text": ["text"], "label": "label"}
SMALL = {
    "captions": {"source": "none"},
    "encoders": {"tiny": {"pretrain": {"layers": 1, "width": 16, "heads": 2, "vocabulary": 300, "epochs": 1, "learning_rate": 0.01}}},
    "training": {"epochs": 3, "learning_rate": 0.02},
    "mutate": {"sets": SETS},
    "classification": {
        "datasets": {
            "made": {
                "labels": {"0": "negative", "1": "positive"},
                "train": {"files": ["run:chinese/data/made_train.jsonl"], **ROWS},
                "test": {"files": ["run:chinese/data/made_test.jsonl"], **ROWS},
            }
        },
        "defences": {"pgd_kpp": None, "freelb_pp": None},
    },
    "attacks": {"recipes": {"textfooler": None, "textbugger": None, "bert_attack": None}},
    "chinese": {
        "datasets": ["made"],
        "simulate": {"made": {"train": 60, "test": 12}},
        "targets": {
            "words": {"function": "my_chat:answer", "labels": {"好评": "positive"}},
            "same": {"defence": "plain"},
            "careful": {"defence": "plain", "least": 0.9},
        },
    },
}
# Knows one word of praise and one of blame, and says nothing else that is a label.
CHAT = """
def answer(texts):
    return ["好评。" if "好" in text else "Negative" if "差" in text else "I cannot say" for text in texts]
"""


def test_split_file(run, tmp_path):
    rows = "".join(f"{k % 2},房间{k}号很{'好' if k % 2 else '差'}\n" for k in range(40))
    (tmp_path / "all.csv").write_text(f"label,review\n{rows}1,\n", encoding="utf-8")
    output = {"train": str(tmp_path / "a.jsonl"), "test": str(tmp_path / "b.jsonl"), "meta": str(tmp_path / "a.json")}
    params = {"rows": json.dumps({"file": "all.csv", "format": "csv", "text": ["review"], "label": "label", "share": 0.3}), "seed": 1}
    done = run("split_file", input={"file": str(tmp_path / "all.csv")}, output=output, params=params)
    assert done.returncode == 0, done.stderr
    assert "all.csv: 1 of 41 rows have no text and are left out: row 41 (line 42)." in done.stderr
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["empty"] == ["row 41 (line 42)"]
    assert sum(found["rows"].values()) == 40
    assert len((tmp_path / "b.jsonl").read_text(encoding="utf-8").splitlines()) == found["rows"]["test"] > 5
    (tmp_path / "all.csv").write_text("label,review\n1,好\n", encoding="utf-8")
    done = run("split_file", input={"file": str(tmp_path / "all.csv")}, output=output, params=params)
    assert done.returncode == 1
    assert "leaves no row for the" in done.stderr
    assert "Traceback" not in done.stderr


def test_from_made_up_reviews_to_table_and_figure(run, tmp_path, monkeypatch):
    """simulate_reviews, attack_words, ask_target, write_transfer_table, plot_transfer."""
    config = check_config(overlay(read_config(), SMALL))
    own, plain = "results/r/classifiers/made/encoder", "results/r/classifiers/made/plain"
    chinese, labels = config["chinese"], json.dumps(["negative", "positive"])
    output = {"train": str(tmp_path / "made_train.jsonl"), "test": str(tmp_path / "made_test.jsonl"), "meta": str(tmp_path / "made.json")}
    done = run("simulate_reviews", output=output, params={"reviews": json.dumps(chinese["simulate"]["made"]), "seed": 1})
    assert done.returncode == 0, done.stderr
    assert [len((tmp_path / f"made_{part}.jsonl").read_text(encoding="utf-8").splitlines()) for part in ("train", "test")] == [60, 12]
    entry = config["classification"]["datasets"]["made"]
    files = {part: [output[part]] for part in ("train", "test")}
    params = {"dataset": json.dumps(entry), "files": json.dumps(files), "seed": 1}
    done = run("collect_dataset", input=files, output=["made.parquet"], params=params, wildcards={"dataset": "made"})
    assert done.returncode == 0, done.stderr
    params = {"encoder": json.dumps(config["encoders"]["tiny"]), "labels": labels, "seed": 1, "threads": 1}
    assert run("pretrain_dataset_encoder", input={"texts": "made.parquet"}, output=[own], params=params, wildcards={"run": "r"}).returncode == 0
    params |= {"training": json.dumps(training_settings(config, {})), "defence": "{}"}
    given = {"texts": "made.parquet", "encoder": own, "start": []}
    assert run("train_classifier", input=given, output=[plain], params=params, wildcards={"run": "r"}).returncode == 0
    given = {"texts": "made.parquet", "classifier": plain, "encoder": own}
    assert run("score_classifier", input=given, output=["scores.parquet"], params={"threads": 1}).returncode == 0

    params = {"sets": json.dumps(SETS), "labels": labels, "victim": "made.plain", "texts": 8, "seconds": 6000, "seed": 1}
    outputs = [f"{name}.jsonl" for name in SETS]
    done = run("attack_words", input=given | {"modules": []}, output=outputs, params=params, wildcards={"run": "r", "dataset": "made"})
    assert done.returncode == 0, done.stderr
    attacks = {name: read_lines(tmp_path / path) for name, path in zip(SETS, outputs, strict=True)}
    header, records = attacks["halves"]
    assert (header["victim"], header["dataset"], header["texts"], header["seed"]) == ("made.plain", "made", 8, 1)
    assert (header["attack"]["operator"], header["attack"]["method"], header["attack"]["words"]) == ("halves", "splitting", "characters")
    assert not [record for record in records if record["status"] in ("error", "timed_out")]
    scores = read_records(tmp_path / "scores.parquet").set_index("id")
    for record in records:
        assert (record["status"] == "skipped") == (scores.predicted[record["id"]] != record["label"])
    assert len(list((tmp_path / "results" / "r" / "state" / "chinese" / "made").iterdir())) == 2

    (tmp_path / "my_chat.py").write_text(CHAT, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    answers = {}
    for name in SETS:
        for target, settings in chinese["targets"].items():
            given = {"attack": f"{name}.jsonl", "classifier": [] if "function" in settings else plain, "encoder": [], "module": []}
            params = {"target": json.dumps(settings), "labels": labels, "threads": 1}
            done = run("ask_target", input=given, output=[f"{name}.{target}.parquet"], params=params, wildcards={"target": target})
            assert done.returncode == 0, done.stderr
            answers[name, target] = read_records(tmp_path / f"{name}.{target}.parquet")
            assert read_meta(tmp_path / f"{name}.{target}.parquet")["rows_out"] == len(answers[name, target])
    # Asked about its own texts, the source must do as the attack recorded.
    for name in SETS:
        ended = [record for record in attacks[name][1] if record["status"] != "skipped"]
        assert answers[name, "same"]["before"].tolist() == [record["predicted_before"] for record in ended]
        assert answers[name, "same"]["after"].tolist() == [record["predicted_after"] for record in ended]

        careful, same = answers[name, "careful"], answers[name, "same"]
        assert ((careful["before"] == same["before"]) | (careful["before"] == CANNOT)).all()
        chat = answers[name, "words"]
        expected = [1 if "好" in record["original"] else 0 if "差" in record["original"] else CANNOT for record in ended]
        assert chat["before"].tolist() == expected
    (tmp_path / "my_chat.py").write_text("def answer(texts):\n    raise TimeoutError('no answer')\n", encoding="utf-8")
    params = {"target": json.dumps(chinese["targets"]["words"]), "labels": labels, "threads": 1}
    given = {"attack": "rewrite.jsonl", "classifier": [], "encoder": [], "module": []}
    done = run("ask_target", input=given, output=["none.parquet"], params=params, wildcards={"target": "words"})
    assert done.returncode == 1
    assert "The target words failed on a list of" in done.stderr
    assert not (tmp_path / "none.parquet").exists()

    asked = [("made", name, target) for name in SETS for target in chinese["targets"]]
    files = {"attacks": outputs, "answers": [f"{name}.{target}.parquet" for _, name, target in asked]}
    params = {"asked": json.dumps(asked), "judges": ["plain"], "config": json.dumps(config)}
    output = {"csv": "transfer.csv", "md": "transfer.md"}
    done = run("write_transfer_table", input=files | {"clean": ["scores.parquet"]}, output=output, params=params)
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "transfer.csv").set_index(["method", "model", "texts", "measure"])
    for name in SETS:
        status = pd.Series([record["status"] for record in attacks[name][1]])
        right = (status != "skipped").sum()
        assert table.loc[(name, "made.plain", "attacked", "success"), "n"] == right
        same, source = (table.loc[(name, model, "attacked", "success"), "value"] for model in ("same", "made.plain"))
        assert same == source == (status == "succeeded").sum() / right
        after = answers[name, "words"]["after"]
        assert table.loc[(name, "words", "attacked", "cannot_classify"), ["n", "value"]].tolist() == [len(after), (after == CANNOT).mean()]
    page = (tmp_path / "transfer.md").read_text(encoding="utf-8")
    assert "## made" in page
    assert f"| made | plain | source, target same, target careful | {100 * (scores.predicted == scores.label).mean():.1f}" in page
    assert "no ORS and no OFS" in page

    done = run("plot_transfer", input={"table": "transfer.csv"}, output=["t.png", "t.svg"], params={"confidence": 0.95})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "t.png").stat().st_size > 10_000
