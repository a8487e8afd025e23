"""Each rule's script on a fixture of a few rows: what it writes, and what it says when the input is wrong."""

import json
import re

import micro
import pandas as pd
import pytest
import yaml
from made_scores import MUTATE, make_run

from muattack.attack.records import read_attack, write_attack
from muattack.config import check_config, overlay, read_config
from muattack.evaluate.articles import count_missing_articles
from muattack.evaluate.metrics import compute_metrics
from muattack.evaluate.tables import write_csv
from muattack.records import read_meta, read_records, write_records
from muattack.results import attack_settings, training_settings


@pytest.fixture
def captions(tmp_path):
    """Three test captions, one of each source, and their file."""
    rows = [
        ("human-1-0", "1", "human", "a red cat", 0, "test"),
        ("machine-1-0", "1", "machine", "The cat sits slowly", 1, "test"),
        ("machine_ood-1-0", "1", "machine_ood", "cat, e.g. there", 1, "test"),
    ]
    path = tmp_path / "captions.parquet"
    write_records(path, pd.DataFrame(rows, columns=["id", "image_id", "source", "text", "label", "split"]).astype({"label": "int8"}), {})
    return str(path)


def test_every_rule_has_its_script_and_every_script_its_rule(root):
    rules = {
        # Some stand under an `if`.
        line.split()[1].rstrip(":")
        for file in (root / "workflow" / "rules").glob("*.smk")
        for line in file.read_text().splitlines()
        if line.strip().startswith("rule ")
    }
    scripts = {path.stem: path.read_text().splitlines() for path in (root / "workflow" / "scripts").glob("*.py")}
    assert rules == scripts.keys()
    for name, lines in scripts.items():
        assert len(lines) <= 40, name
        code = [line for line in lines if line and not line.startswith(('"""', "#"))]
        assert code[:2] == ["from muattack.job import start_log", "start_log(snakemake)"], name


def test_every_rule_is_complete(root):
    for file in sorted((root / "workflow" / "rules").glob("*.smk")):
        for rule in re.split(r"\n *rule ", file.read_text())[1:]:
            for directive in (
                "input:",
                "output:",
                "log:",
                "benchmark:",
                "conda:",
                "threads:",
                "resources:",
                "mem_mb",
                "runtime",
                "message:",
                "script:",
                "library=",
            ):
                name = rule.split(":")[0]
                # What is fetched depends on its address and checksum alone: an edited module must not fetch anything again.
                if (directive == "library=" and name in ("fetch_file", "fetch_images")) or (name, directive) == ("fetch_file", "input:"):
                    continue
                assert directive in rule, f"{file.name}: {name} lacks {directive}"


def write(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def test_collect_captions(run, tmp_path):
    files = {name: write(tmp_path / f"{name}.json", {str(i): [f"A {name} caption, {i}."] for i in range(12)}) for name in ("human", "machine")}
    params = {
        "sources": ["human", "machine"],
        "images": None,
        "normalise": "paper",
        "split": json.dumps({"train": 0.7, "val": 0.15, "test": 0.15}),
        "seed": 1,
    }
    done = run("collect_captions", input=files, output=["out.parquet"], params=params)
    assert done.returncode == 0, done.stderr
    table = read_records(tmp_path / "out.parquet")
    assert len(table) == 24
    assert set(table.text[table.source == "human"]) == {f"a human caption {i}" for i in range(12)}
    assert read_meta(tmp_path / "out.parquet")["rows"] == {"human": 12, "machine": 12}

    (tmp_path / "human.json").write_text("{")
    (tmp_path / "out.parquet").unlink()
    done = run("collect_captions", input=files, output=["out.parquet"], params=params)
    assert done.returncode == 1
    assert "human.json is not valid JSON" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in (tmp_path / "collect_captions.log").read_text()
    assert not (tmp_path / "out.parquet").exists()


def test_mutate_captions(run, captions, tmp_path):
    mutate = read_config()["mutate"]
    block = {
        "sets": {"word_articles": mutate["sets"]["word_articles"]},
        "tasks": {"mwr": ["word_articles"]},
        "apply": "jointly",
        "classes": ["machine"],
    }
    done = run(
        "mutate_captions",
        input={"captions": captions},
        output=["mwr.parquet"],
        params={"mutate": json.dumps(block), "seed": 1, "data": "."},
        wildcards={"set": "mwr"},
    )
    assert done.returncode == 0, done.stderr
    table = read_records(tmp_path / "mwr.parquet")
    assert table[["id", "text", "mutated", "changed"]].values.tolist() == [
        ["machine-1-0", "The cat sits slowly", "cat sits slowly", True],
        ["machine_ood-1-0", "cat, e.g. there", "cat, e.g. there", False],
    ]
    assert [dict(edit) for edit in table.edits[0]] == [{"start": 0, "end": 4, "replacement": ""}]


def test_mutate_operators(run, captions, tmp_path):
    done = run(
        "mutate_operators",
        input={"captions": captions},
        output=["operators.parquet"],
        params={"sets": json.dumps(read_config()["mutate"]["sets"]), "data": "."},
    )
    assert done.returncode == 0, done.stderr
    table = read_records(tmp_path / "operators.parquet")
    assert dict(zip(table.operator, table.mutated, strict=True)) == {
        "word_articles:the": "cat sits slowly",
        "char_e_articles:the": "Thϵ cat sits slowly",
        "word_adverbs:slowly": "The cat sits",
    }


def test_copy_detector(run, tmp_path):
    (tmp_path / "rr").mkdir()
    (tmp_path / "rr" / "config.json").write_text("{}")
    done = run("copy_detector", input={"same": "rr"}, output=["rr_m0.3"])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "rr_m0.3" / "config.json").read_text() == "{}"


ROWS = {"format": "csv", "text": ["text"], "label": "topic"}
LABELS = {"food": "Food", "weather": "Weather"}


@pytest.fixture
def toy(tmp_path):
    """A data set of three test rows, and its table."""
    (tmp_path / "train.csv").write_text("text,topic\n" + "".join(f"warm soup {k},food\ncold rain {k},weather\n" for k in range(4)), encoding="utf-8")
    (tmp_path / "test.csv").write_text('text,topic\n"null",food\n"two\nlines ""here""",weather\ncold rain 1,weather\n', encoding="utf-8")
    return {part: [str(tmp_path / f"{part}.csv")] for part in ("train", "test")}


@pytest.fixture
def collected(run, toy, tmp_path):
    params = {"dataset": json.dumps({"train": ROWS, "test": ROWS, "labels": LABELS}), "files": json.dumps(toy), "seed": 1}
    done = run("collect_dataset", input=toy, output=["toy.parquet"], params=params, wildcards={"dataset": "toy"})
    assert done.returncode == 0, done.stderr
    return done, str(tmp_path / "toy.parquet"), params


def test_collect_dataset(run, collected, toy, tmp_path):
    done, table, params = collected
    test = read_records(table).query("split == 'test'")
    assert test[["id", "text", "label"]].values.tolist() == [
        ["toy-test-0", "null", 0],
        ["toy-test-1", 'two\nlines "here"', 1],
        ["toy-test-2", "cold rain 1", 1],
    ]
    assert read_meta(table)["rows_read"] == {"train": 8, "test": 3}
    # A test text that is a training text too is told at once.
    assert "1 of 3 test texts are training texts too" in done.stderr

    (tmp_path / "test.csv").write_text("text,topic\na,food\nb,sports\n", encoding="utf-8")
    (tmp_path / "toy.parquet").unlink()
    done = run("collect_dataset", input=toy, output=["toy.parquet"], params=params, wildcards={"dataset": "toy"})
    assert done.returncode == 1
    assert "test.csv, row 2 (line 3), has the label 'sports'" in done.stderr
    assert "'food', 'weather'" in done.stderr
    assert not (tmp_path / "toy.parquet").exists()


def test_a_classifier_from_texts_to_scores(run, collected, tmp_path):
    """pretrain_dataset_encoder, train_classifier, score_classifier, attack_texts."""
    small = {"encoders": {"tiny": {"pretrain": {"layers": 1, "width": 16, "heads": 2, "vocabulary": 300, "epochs": 1}}}, "training": {"epochs": 1}}
    config = check_config(overlay(read_config(), small))
    own, defended = "results/r/classifiers/toy/encoder", "results/r/classifiers/toy/freelb_pp"
    encoder, labels, table = json.dumps(config["encoders"]["tiny"]), json.dumps(["Food", "Weather"]), collected[1]
    params = {"encoder": encoder, "labels": labels, "seed": 1, "threads": 1}
    done = run("pretrain_dataset_encoder", input={"texts": table}, output=[own], params=params, wildcards={"run": "r"})
    assert done.returncode == 0, done.stderr
    defence = config["classification"]["defences"]["freelb_pp"]
    params |= {"training": json.dumps(training_settings(config, defence)), "defence": json.dumps(defence)}
    done = run("train_classifier", input={"texts": table, "encoder": own, "start": []}, output=[defended], params=params, wildcards={"run": "r"})
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / defended / "muattack.json").read_text())["labels"] == ["Food", "Weather"]
    given = {"texts": table, "classifier": defended, "encoder": own}
    done = run("score_classifier", input=given, output=["scores.parquet"], params={"threads": 1})
    assert done.returncode == 0, done.stderr
    scores = read_records(tmp_path / "scores.parquet")
    assert scores.id.tolist() == ["toy-test-0", "toy-test-1", "toy-test-2"]
    assert scores.label.tolist() == [0, 1, 1]
    # `score` belongs to the true label: above one half where, and only where, the prediction is right.
    assert ((scores.score > 0.5) == (scores.predicted == scores.label)).all()
    assert not scores.truncated.any()

    attacks = {name: attack_settings(config, "captions", name) for name in ("textbugger", "bert_attack")}
    (tmp_path / "near.json").write_text("{}")
    given = {"texts": table, "victim": defended, "encoder": [], "synonyms": "near.json", "antonyms": [], "language_model": own}
    params = {
        "attacks": json.dumps(attacks), "labels": labels, "chosen": json.dumps([3, None]), "dataset": "toy", "similarity": json.dumps(
        {"measure": "cosine", "precision": "float32"}), "encoder": json.dumps(micro.frozen_bert()), "language_model": None, "seconds": 60,
        "shards": 1, "seed": 1,
    }  # fmt: skip
    wildcards = {"run": "r", "victim": "toy.freelb_pp", "shard": "0"}
    done = run("attack_texts", input=given, output=["bugs.jsonl", "masks.jsonl"], params=params, wildcards=wildcards)
    assert done.returncode == 0, done.stderr
    for name, recipe in (("bugs", "textbugger"), ("masks", "bert_attack")):
        header, records = read_attack(tmp_path / f"{name}.jsonl")
        assert header["attack"]["recipe"] == recipe
        assert sorted(records.id) == ["toy-test-0", "toy-test-1", "toy-test-2"]
        # Skipped where, and only where, the classifier was wrong.
        wrong = dict(zip(scores.id, scores.predicted != scores.label, strict=True))
        assert {row.id: row.status == "skipped" for row in records.itertuples()} == wrong
    assert len(list((tmp_path / "results" / "r" / "state" / "attacks" / "toy.freelb_pp").iterdir())) == 2


def test_build_synonyms(run, captions, tmp_path):
    (tmp_path / "near.json").write_text(json.dumps({"cat": ["feline", "kitten", "dog"], "red": ["crimson"], "unseen": ["x"]}))
    (tmp_path / "opposites.txt").write_text("cat dog\n")
    params = {
        "synonyms": json.dumps({"source": "neighbours", "min_cosine": 0.5}),
        "most": 2,
        "chosen": json.dumps([10, [0, 1]]),
        "seed": 1,
    }
    given = {"texts": captions, "source": ["near.json"], "antonyms": ["opposites.txt"]}
    done = run("build_synonyms", input=given, output=["out.json"], params=params)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out.json").read_text()) == {"cat": [["feline", None], ["kitten", None]], "red": [["crimson", None]]}


def record(name, label, status):
    """One record of an attack on a text about a cat."""
    text, good = f"the cat {name}", status == "succeeded"
    return {
        "id": name, "label": label, "original": text, "adversarial": text.replace("cat", "dog") if good else None,
        "edits": [{"start": 4, "end": 7, "replacement": "dog"}] if good else [], "status": status, "reason": "",
        "predicted_before": 1 - label if status == "skipped" else label, "predicted_after": 1 - label if status != "failed" else label,
        "score_before": 0.7, "score_after": 0.4, "queries": 1 if status == "skipped" else 9, "similarity": 0.9 if good else None,
        "words": 3, "words_changed": int(good), "seconds": 0.25,
    }  # fmt: skip


def test_attacks_from_shards_to_table_and_figure(run, tmp_path):
    """gather_attacks, write_attack_tables, plot_attacks, describe_run."""
    above = {"attacks": {"victims": ["finetune"], "recipes": {"textbugger": None, "bert_attack": None}}, "evaluate": {"bootstrap": 50}}
    config = check_config(overlay(read_config(), above))
    texts = [record("machine-1-0", 1, "succeeded"), record("machine-2-0", 1, "failed"), record("machine-3-0", 1, "skipped")]
    header = {
        "attack": {**attack_settings(config, "captions", "textfooler"), "measure": "cosine"}, "victim": "finetune", "dataset": "captions",
        "victim_sha256": "0", "texts": 3, "seed": 1, "versions": {"textattack": "0.3.11"},
    }  # fmt: skip
    whole = {}
    for count in (1, 2):
        shards = []
        for shard in range(count):
            shards.append(str(tmp_path / f"textfooler-{shard}.jsonl"))
            write_attack(shards[-1], {**header, "shard": shard, "shards": count}, texts[shard::count])
        done = run("gather_attacks", input={"shards": shards}, output=[f"attacks/{count}.jsonl"], params={"shards": count})
        assert done.returncode == 0, done.stderr
        whole[count] = (tmp_path / "attacks" / f"{count}.jsonl").read_bytes()
    assert whole[1] == whole[2]
    assert read_attack(tmp_path / "attacks" / "1.jsonl")[1].status.tolist() == ["succeeded", "failed", "skipped"]

    rows = [(f"machine-{k}-0", str(k), "machine", f"the cat machine-{k}-0", 1, "test") for k in (1, 2, 3)]
    rows += [(f"human-{k}-0", str(k), "human", f"a human {k}", 0, "test") for k in (1, 2, 3)]
    captions = pd.DataFrame(rows, columns=["id", "image_id", "source", "text", "label", "split"]).astype({"label": "int8"})
    write_records(tmp_path / "captions.parquet", captions, {})
    scores = captions[["id"]].assign(task="clean", operator="", score=[0.9, 0.8, 0.2, 0.1, 0.2, 0.3], truncated=False)
    write_records(tmp_path / "scores.parquet", scores, {})
    done = run(
        "write_attack_tables",
        input={"attacks": ["attacks/1.jsonl"], "clean": ["scores.parquet"], "captions": "captions.parquet"},
        output={"csv": ["attacks.csv", "attack_examples.csv"], "md": ["attacks.md", "attack_examples.md"]},
        params={
            "victims": json.dumps([["captions", "finetune"]]),
            "attacks": ["textfooler"],
            "tables": ["attacks", "attack_examples"],
            "config": json.dumps(config),
        },
    )
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "attacks.csv")
    assert len(table) == 1
    # Of three texts two were right before the attack, and one after; one of the two attacks succeeded.
    assert table.loc[0, ["clean", "aua", "suc", "queries", "n", "skipped"]].tolist() == pytest.approx([2 / 3, 1 / 3, 1 / 2, 9, 3, 1])
    assert "dog" in (tmp_path / "attack_examples.md").read_text()

    done = run(
        "plot_attacks",
        input={"attacks": "attacks.csv"},
        output=["attack_accuracy.png", "attack_accuracy.svg"],
        params={"config": json.dumps(config)},
        wildcards={"figure": "attack_accuracy"},
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "attack_accuracy.png").stat().st_size > 5_000

    params = {"folders": ["attacks"], "config": json.dumps(config)}
    seen = []
    for seconds in (0.25, 99.0):
        write_attack(tmp_path / "attacks" / "1.jsonl", header, [{**one, "seconds": seconds} for one in texts])
        given = {"captions": [], "metrics": [], "attacks": [str(tmp_path / "attacks" / "1.jsonl")], "data": []}
        done = run("describe_run", input=given, output={"run": str(tmp_path / "meta.json")}, params=params)
        assert done.returncode == 0, done.stderr
        seen.append((tmp_path / "attacks" / "meta.json").read_text())
    # Nothing in meta.json knows the clock.
    assert seen[0] == seen[1]
    assert json.loads(seen[0])["files"]["1.jsonl"]["succeeded"] == 1
    assert "metrics" not in json.loads((tmp_path / "meta.json").read_text())


def test_write_report(run, tmp_path):
    names = ("finetune", "rr")
    made = make_run(tmp_path, images=6, detectors=names, ood=False)
    for path in made["mutants"].values():
        write_records(path, read_records(path).assign(edits=[[]] * len(read_records(path)), source="machine"), {})
    config = check_config(overlay(read_config(), {"evaluate": {"bootstrap": 10}}))
    config |= {"detectors": {name: config["detectors"][name] for name in names}, "mutate": config["mutate"] | MUTATE}
    write_records(tmp_path / "captions.parquet", made["captions"], {})
    metrics, _ = compute_metrics(made["captions"], made["scores"], made["mutants"], config["evaluate"], config["mutate"], 1)
    write_csv(tmp_path / "metrics.csv", metrics)
    write_csv(tmp_path / "articles.csv", count_missing_articles(made["captions"], 0.95))
    (tmp_path / "articles.md").write_text("# Articles\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n")
    write(tmp_path / "meta.json", {"versions": {"python": "3.11"}, "machine": "x86_64", "inputs": {}})
    write_attack(tmp_path / "textfooler.jsonl", {"victim": "rr", "dataset": "captions", "attack": {}, "texts": 1}, [record("m-1", 1, "failed")])
    done = run(
        "write_report",
        input={
            "meta": "meta.json", "captions": "captions.parquet", "mutants": list(map(str, made["mutants"].values())),
            "scores": list(map(str, made["scores"].values())), "measured": ["metrics.csv"], "tables": ["articles.csv", "articles.md"], "figures": [],
            "attacks": ["textfooler.jsonl"],
        },
        output=["report.html"],
        params={"mutants": list(made["mutants"]), "detectors": list(names), "victims": ["rr"], "benchmarks": "benchmarks", "config": json.dumps(config)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "is hardest for <strong>Finetune</strong>" in page
    assert "<td>2</td>" in page.replace(' style="text-align:right"', "")
    assert "mutants and attacked texts" in page


def test_schemas_of_the_configurations_are_yaml_without_tabs(root):
    for file in (root / "config").glob("*.yaml"):
        assert "\t" not in file.read_text(encoding="utf-8")
        assert isinstance(yaml.safe_load(file.read_text(encoding="utf-8")), dict)
