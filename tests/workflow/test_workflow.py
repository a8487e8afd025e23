"""The workflow as a whole: dry runs of every configuration, and one small real run."""

import hashlib
import json
import os
import re
import zlib
from pathlib import Path

import pandas as pd
import pytest
from runs import fingerprints, jobs, snakemake
from stand_ins import make_news_and_reviews, make_stand_ins

from muattack.attack.records import apply_edits, read_attack
from muattack.data.noisyhate import read_pairs
from muattack.evaluate.tables import NONE
from muattack.judge.page import FORMAT, VERSION, batch_name, tasks

HERE = Path(__file__).parent
TASKS = ["H_vs_M", "mwr", "mwj", "mwd", "mcr", "mcj", "mcd"]


# What each shipped configuration makes, by rule.
DEMO = {"train_detector": 14, "copy_detector": 1, "score_texts": 15, "attack_texts": 6, "gather_attacks": 6, "build_synonyms": 1, "plot_attacks": 1}
CAPTIONS = {"train_detector": 12, "copy_detector": 1, "score_texts": 13}
DEFENDERS = {
    "collect_dataset": 2,
    "pretrain_dataset_encoder": 2,
    "train_classifier": 12,
    "score_classifier": 12,
    "attack_texts": 20,
    "gather_attacks": 10,
}
DEFENDERS_MINILM = {"pretrain_dataset_encoder": 2, "train_classifier": 10, "attack_texts": 20}
CORRUPTED = {"fit_corruptions": 1, "corrupt_texts": 1, "train_detector": 2, "score_corrupted": 2, "write_severity_tables": 1, "plot_severity": 1}
CORRUPTED_IMDB = {"collect_dataset": 1, "train_classifier": 1, "fit_corruptions": 1, "corrupt_texts": 1, "score_corrupted": 1, "plot_severity": 1}
CHINESE = {
    "simulate_reviews": 1, "collect_dataset": 1, "train_classifier": 2, "attack_words": 1, "ask_target": 6, "write_transfer_table": 1, "plot_transfer": 1,
}  # fmt: skip
CHINESE_REAL = {"split_file": 1, "collect_dataset": 2, "train_classifier": 4, "attack_words": 2, "ask_target": 12, "plot_transfer": 1}
NOISYHATE = {
    "train_detector": 2, "clean_posts": 1, "build_lookup": 1, "perturb_posts": 1, "restore_pairs": 5, "score_pairs": 3, "write_judging_page": 1, "plot_thresholds": 1,
}  # fmt: skip
NOISYHATE_REAL = {"read_pairs": 1, "restore_pairs": 5, "write_normaliser_table": 1, "write_judging_page": 1}
# What needs no data but its own.
EMBEDDED = {"config", "corrupted", "chinese", "noisyhate", "paper"}
PAPER = {
    "fetch_file": 17, "fetch_images": 1, "convert_detector": 1, "convert_weights": 2, "list_images": 1, "caption_images": 4, "gather_captions": 2, "open_detector": 1,
    "encode_training_texts": 2, "train_detector": 11, "copy_detector": 1, "score_texts": 13, "plot_roc": 7, "write_tables": 1,
}  # fmt: skip
ABLATIONS = {"collect_dataset": 1, "train_classifier": 17, "attack_texts": 32, "gather_attacks": 16, "plot_attacks": 5, "write_attack_tables": 1}


@pytest.mark.parametrize(
    ("names", "made", "not_made"),
    [
        (["config"], {**DEMO, "plot_roc": 6}, {"collect_dataset", "train_classifier"}),
        (["captions"], {**CAPTIONS, "plot_roc": 6}, {"attack_texts", "write_attack_tables", "build_synonyms"}),
        (["defenders"], DEFENDERS, {"collect_captions", "train_detector", "compute_metrics", "write_tables", "plot_roc", "pretrain_encoder"}),
        (["defenders", "defenders_minilm"], DEFENDERS_MINILM, {"train_detector"}),
        (["defenders", "ablations"], ABLATIONS, {"train_detector"}),
        (["corrupted"], CORRUPTED, {"attack_texts", "collect_dataset"}),
        (["corrupted_imdb"], CORRUPTED_IMDB, {"attack_texts", "collect_captions", "train_detector"}),
        (["chinese"], CHINESE, {"attack_texts", "collect_captions", "train_detector", "split_file"}),
        (["chinese", "chinese_real"], CHINESE_REAL, {"attack_texts", "collect_captions", "simulate_reviews"}),
        (["noisyhate"], NOISYHATE, {"attack_texts", "collect_dataset", "read_pairs", "filter_pairs"}),
        (["paper"], PAPER, {"attack_texts", "pretrain_encoder", "collect_base_captions", "train_captioner"}),
        (["noisyhate_real"], NOISYHATE_REAL, {"collect_captions", "train_classifier", "clean_posts", "score_pairs", "plot_thresholds"}),
    ],
    # Sets have no order, and two processes must name the tests alike.
    ids=lambda value: "+".join(sorted(value)),
)
def test_dry_run(root, data, tmp_path, names, made, not_made, monkeypatch):
    if not set(names) <= EMBEDDED and not data.is_dir():
        pytest.skip(f"the real data is not at {data}; set MUATTACK_DATA to its folder")
    monkeypatch.setenv("MUATTACK_DATA", str(data))
    files = [str(root / "config" / f"{name}.yaml") for name in names]
    code, output = snakemake(root, tmp_path, "--dry-run", "--cores", "2", "--configfile", *files)
    assert code == 0, output
    listed = jobs(output)
    assert {rule: listed.get(rule) for rule in made} == made
    assert not not_made & listed.keys()
    assert not (tmp_path / "results").exists()


def test_every_shipped_configuration_has_a_dry_run(root):
    assert {path.stem for path in (root / "config").glob("*.yaml")} == {
        "config",
        "captions",
        "defenders",
        "defenders_minilm",
        "ablations",
        "corrupted",
        "corrupted_imdb",
        "chinese",
        "chinese_real",
        "noisyhate",
        "noisyhate_real",
        "paper",
    }


def test_frozen_encoder_dry_run(root, tmp_path):
    code, output = snakemake(root, tmp_path, "--dry-run", "--cores", "2", "--config", "encoder=minilm", "attacks={recipes: {bert_attack: null}}")
    assert code == 0, output
    assert jobs(output)["encode_training_texts"] == 2
    assert jobs(output)["encode_test_texts"] == 2
    assert "pretrain_encoder" not in output
    # bert_attack asks a masked language model: with none named, the run pretrains the one it can.
    code, output = snakemake(root, tmp_path, "--dry-run", "--cores", "2", "--config", "encoder=minilm")
    assert code == 0, output
    assert jobs(output)["pretrain_encoder"] == 1


def test_a_function_of_the_users_is_one_more_target(root, tmp_path, monkeypatch):
    (tmp_path / "my_chat.py").write_text("def answer(texts):\n    return [None] * len(texts)\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    chat = "chinese={targets: {chat: {function: 'my_chat:answer', labels: {好评: positive}}}}"
    code, output = snakemake(root, tmp_path, "--dry-run", "--cores", "2", "--configfile", str(root / "config" / "chinese.yaml"), "--config", chat)
    assert code == 0, output
    assert jobs(output)["ask_target"] == CHINESE["ask_target"] + 3


def test_without_victims_nothing_of_attacks_is_made(root, tmp_path):
    code, output = snakemake(root, tmp_path, "--dry-run", "--cores", "2", "--config", "attacks={victims: []}")
    assert code == 0, output
    assert not {"attack_texts", "gather_attacks", "build_synonyms", "write_attack_tables", "plot_attacks"} & jobs(output).keys()
    assert "results/demo/attacks" not in output


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--config", "encodr=tiny"], ["Unknown key `encodr`", "Did you mean `encoder`?"]),
        (["--config", "mutate={sets: {mine: {kind: word, words: none.txt}}}"], ["none.txt", "does not exist"]),
        (["--configfile", "defenders.yaml", "--config", "data=nowhere"], ["nowhere/topic/ag_news", "classification.datasets.ag_news.train.files"]),
        (["--config", "attacks={synonyms: {source: neighbours, path: none.json}}"], ["none.json (attacks.synonyms.path) does not exist"]),
        (["--configfile", "chinese.yaml", "chinese_real.yaml", "--config", "data=nowhere"], ["nowhere/chinese/thucnews_dev.txt", "does not exist"]),
        (
            ["--configfile", "chinese.yaml", "--config", "chinese={targets: {mine: {function: 'no_such_chat:answer'}}}"],
            ["no_such_chat", "PYTHONPATH"],
        ),
        (
            ["--configfile", "chinese.yaml", "--config", "chinese={split: {mine: {file: no.csv, format: csv, text: [a], label: b}}}"],
            ["no.csv", "chinese.split.mine.file"],
        ),
        (["--configfile", "corrupted.yaml", "--config", "corrupted={base: no.json}"], ["no.json (corrupted.base) does not exist"]),
        (["--configfile", "corrupted.yaml", "--config", "mutate={sets: {corrupt_05: {synonyms: no.txt}}}"], ["no.txt", "does not exist"]),
        (
            [
                "--configfile",
                "corrupted.yaml",
                str(HERE / "out_of_range.yaml"),
            ],
            ["has 3 faults", "corrupted.severities.0 is 1.5", "corrupted.weights.typo is -1", "mutate.sets.corrupt_05.severity is 0"],
        ),
        (["--configfile", "noisyhate_real.yaml", "--config", "data=nowhere"], ["nowhere/perturbations", "(noisyhate.pairs) does not exist"]),
        (
            ["--configfile", "noisyhate.yaml", "--config", "noisyhate={perturbations: {corpus: [no.txt]}}"],
            ["no.txt", "noisyhate.perturbations.corpus.1"],
        ),
        (
            ["--configfile", "noisyhate.yaml", "--config", "noisyhate={classifiers: {mine: {function: 'no_such_scorer:score'}}}"],
            ["no_such_scorer (noisyhate.classifiers.mine.function)", "PYTHONPATH"],
        ),
        (["--config", "mutate={sets: {h: {kind: human, perturbations: {table: no.json}}}}"], ["no.json", "does not exist"]),
        (["--config", "attacks={victims: [finetun]}"], ["unknown detector `finetun`", "Did you mean `finetune`?"]),
        (["--config", "captions={source: files, files: {human: a.json, machine: b.json}}", "detectors={base: null}"], ["a.json", "does not exist"]),
    ],
)
def test_bad_configuration_is_one_paragraph(root, tmp_path, arguments, parts, monkeypatch):
    monkeypatch.delenv("MUATTACK_DATA", raising=False)
    arguments = [str(root / "config" / argument) if argument.endswith(".yaml") else argument for argument in arguments]
    code, output = snakemake(root, tmp_path, "--dry-run", "--cores", "2", *arguments)
    assert code != 0
    assert all(part in output for part in parts), output
    assert "Traceback" not in output
    assert not (tmp_path / "results").exists()


def write_answers(path, batch, worker, qualities):
    """Write a file of answers as the judging page does, every word found."""
    rows = [{"pair": task.id, "word": task.place, "quality": quality, "ms": 6000} for task, quality in zip(batch, qualities, strict=True)]
    told = {"format": FORMAT, "version": VERSION, "batch": batch_name(batch), "worker": worker, "wait": 5, "answers": rows}
    lines = [*(told[key] for key in ("format", "version", "batch", "worker", "wait")), *(value for row in rows for value in row.values())]
    path.write_text(json.dumps({**told, "check": zlib.crc32("\n".join(map(str, lines)).encode())}))


JUDGED = """
run: judged
captions: {source: none}
attacks: {recipes: {textfooler: null, textbugger: null, bert_attack: null}}
noisyhate:
  pairs: pairs.csv
  normalisers: [look-alikes]
  judging: {answers: [w1.json, w2.json, w3.json], workers: 3}
"""


def test_a_run_with_answers_of_judges(root, tmp_path, monkeypatch):
    monkeypatch.delenv("MUATTACK_DATA", raising=False)
    (tmp_path / "pairs.csv").write_text(
        "clean_version,perturbed_version\na silly dog,a $illy dog\na lousy plan,a lousssy plan\nthat silly boy,that sally boy\n"
    )
    (tmp_path / "judged.yaml").write_text(JUDGED)
    batch = tasks(read_pairs(tmp_path / "pairs.csv"))
    answers = [f"w{number}.json" for number in (1, 2, 3)]
    for name, qualities in zip(answers, [(5, 4, 1), (4, 2, 2), (1, 5, 5)], strict=True):
        write_answers(tmp_path / name, batch, name[:2], qualities)
    options = ["--cores", "1", "--configfile", str(tmp_path / "judged.yaml")]
    code, output = snakemake(root, tmp_path, *options)
    assert code == 0, output
    run = tmp_path / "results" / "judged"
    assert batch_name(batch) in (run / "noisyhate" / "judging.html").read_text()
    kept = pd.read_parquet(run / "noisyhate" / "kept.parquet")
    assert kept["form"].tolist() == ["$illy", "lousssy"]
    judged = pd.read_csv(run / "tables" / "judging.csv").set_index("type")
    assert judged.loc["overall", ["n", "kept"]].tolist() == [3, 2]
    # The tables are of the pairs that were kept: of two words one is restored.
    restored = pd.read_csv(run / "tables" / "normalisers.csv").set_index("type")
    assert restored.loc["overall", ["n", "value"]].tolist() == [2, 0.5]
    # Everything of the user's that went in, by its digest.
    inputs = json.loads((run / "meta.json").read_text())["inputs"]
    assert inputs == {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in [*answers, "pairs.csv"]}

    # A file edited by hand stops the run before anything is made of it.
    told = (tmp_path / "w2.json").read_text()
    (tmp_path / "w2.json").write_text(told.replace('"quality": 2', '"quality": 5', 1))
    code, output = snakemake(root, tmp_path, *options)
    assert code != 0
    assert "filter_pairs: The file of answers w2.json was edited by hand: its check sum does not fit" in output
    assert "Traceback" not in output
    # Taken back, the run is as it was.
    before = (run / "tables" / "normalisers.csv").read_bytes()
    (tmp_path / "w2.json").write_text(told)
    code, output = snakemake(root, tmp_path, *options)
    assert code == 0, output
    assert pd.read_parquet(run / "noisyhate" / "kept.parquet").equals(kept)
    assert (run / "tables" / "normalisers.csv").read_bytes() == before


def test_files_that_corruptions_are_made_from_are_described(root, tmp_path, monkeypatch):
    monkeypatch.delenv("MUATTACK_DATA", raising=False)
    for name in ("words.txt", "alike.txt"):
        (tmp_path / name).write_text("film, movie\n")
    options = ["--configfile", str(root / "config" / "corrupted.yaml"), "--config", "corrupted={base: words.txt, synonyms: alike.txt}"]
    code, graph = snakemake(root, tmp_path, "--filegraph", *options)
    assert code == 0, graph
    for rule in ("fit_corruptions", "describe_run"):
        (node,) = re.findall(rf">{rule}</font>.*?shape=none", graph, re.DOTALL)
        assert ">words.txt<" in node
        assert ">alike.txt<" in node


@pytest.mark.parametrize(
    ("name", "changes", "target", "said"),
    [
        (
            "corrupted",
            "corrupted={base: few.txt}",
            "results/corrupted/corrupted/captions.base.json",
            "fit_corruptions: The base corpus few.txt has 4 distinct words, but a base needs at least 100",
        ),
        (
            "noisyhate",
            "noisyhate={perturbations: {table: list.json}}",
            "results/noisyhate/noisyhate/forms.json",
            "build_lookup: The table of perturbations list.json holds a list, not an object.",
        ),
    ],
)
def test_bad_files_stop_a_run_with_one_paragraph(root, tmp_path, name, changes, target, said, monkeypatch):
    monkeypatch.delenv("MUATTACK_DATA", raising=False)
    (tmp_path / "few.txt").write_text("a dog and a cat\n")
    (tmp_path / "list.json").write_text('["s1lly"]')
    code, output = snakemake(root, tmp_path, "--cores", "1", "--configfile", str(root / "config" / f"{name}.yaml"), "--config", changes, "--", target)
    assert code != 0
    assert said in output
    assert "Traceback" not in output
    assert not (tmp_path / target).exists()


@pytest.mark.slow
def test_small_run_makes_everything_and_the_same_bytes_again(root, tmp_path, monkeypatch):
    # The toy data set lies beside this file.
    monkeypatch.setenv("MUATTACK_DATA", str(HERE))
    runs = {}
    # One attack in one piece or in two, on two cores or one, under two hash seeds.
    for cores, seed, shards in (("2", "1", "1"), ("1", "2", "2")):
        folder = tmp_path / cores
        folder.mkdir()
        (folder / "shards.yaml").write_text(f"attacks: {{shards: {shards}}}")
        options = ["--cores", cores, "--configfile", str(HERE / "small.yaml"), str(folder / "shards.yaml")]
        code, output = snakemake(root, folder, *options, hash_seed=seed)
        assert code == 0, output[-5000:]
        runs[cores] = folder / "results" / "small"
    run = runs["2"]

    metrics = pd.read_csv(run / "metrics.csv")
    detectors = sorted(metrics.detector.unique())
    assert len(detectors) == 15
    assert set(metrics.domain) == {"in", "ood"}
    # Texts of one image only have no interval.
    measured = metrics.dropna(subset=["auc", "auc_low"])
    assert len(measured) > 100
    assert ((measured.auc_low <= measured.auc) & (measured.auc <= measured.auc_high)).all()
    for task in TASKS:
        assert set(metrics.detector[metrics.task == task]) == set(detectors)
    captions = pd.read_parquet(run / "captions.parquet")
    assert len(captions) == 40 * 3 * 3
    assert captions.groupby("image_id").split.nunique().eq(1).all()
    for task in TASKS[1:]:
        mutants = pd.read_parquet(run / "mutants" / f"{task}.parquet")
        assert (mutants.changed == (mutants.text != mutants.mutated)).all()
        assert len(mutants) == ((captions.label == 1) & (captions.split == "test")).sum()
    for meta in run.rglob("meta.json"):
        json.loads(meta.read_text(encoding="utf-8"))
    assert not [path for path in run.rglob("*") if path.suffix in (".bin", ".pt", ".pkl")]
    for figure in ("fig3a", "fig3b", "fig4", "fig5", "fig6a", "fig6b", "fig6c", "fig7"):
        assert (run / "figures" / f"{figure}.png").stat().st_size > 10_000
        assert "<dc:date>" not in (run / "figures" / f"{figure}.svg").read_text(encoding="utf-8")

    check_attacks(run)

    one, other = fingerprints(runs["2"]), fingerprints(runs["1"])
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []

    code, output = snakemake(root, tmp_path / "2", "--cores", "2", "--configfile", str(HERE / "small.yaml"))
    assert "Nothing to be done" in output

    # An operator set of the user's own: its mutants, every score and what hangs on them, but no training and no other mutants.
    mine = ["--config", "mutate={sets: {colours: {kind: word, words: [red, blue]}}, tasks: {colour: [colours]}}"]
    code, output = snakemake(root, tmp_path / "2", "--dry-run", "--cores", "2", "--configfile", str(HERE / "small.yaml"), *mine)
    listed = jobs(output)
    assert listed["mutate_captions"] == 2
    assert listed["score_texts"] == 15
    assert not {"train_detector", "pretrain_encoder", "collect_captions", "train_captioner", "train_classifier", "attack_texts"} & listed.keys()

    # An attack of the user's own: it alone is made, on every victim.
    # (In a file: Snakemake takes numbers inside --config for text.)
    (tmp_path / "few.yaml").write_text("attacks: {recipes: {few: {recipe: textfooler, k_max: 3}}}")
    mine = ["--configfile", str(HERE / "small.yaml"), str(tmp_path / "few.yaml")]
    code, output = snakemake(root, tmp_path / "2", "--dry-run", "--cores", "2", *mine)
    listed = jobs(output)
    assert listed["attack_texts"] == 3
    assert not {"train_detector", "train_classifier", "build_synonyms", "score_texts"} & listed.keys()

    report = tmp_path / "2" / "report.html"
    code, output = snakemake(root, tmp_path / "2", "--cores", "1", "--configfile", str(HERE / "small.yaml"), "--report", str(report))
    assert code == 0, output
    page = report.read_text(encoding="utf-8")
    assert all(f"{figure}.png" in page for figure in ("fig3a", "fig3b", "fig4", "fig5", "fig6a", "fig6b", "fig6c", "fig7", "differences"))
    assert all(part in page for part in ("table1.csv", "attacks.csv", "attack_accuracy.png"))


@pytest.mark.slow
def test_the_papers_study_on_stand_ins(root, tmp_path, monkeypatch):
    monkeypatch.delenv("MUATTACK_DATA", raising=False)
    make_stand_ins(tmp_path / "stand_ins", 45)
    options = ["--cores", "2", "--configfile", str(root / "config" / "paper.yaml"), str(HERE / "paper_scaled.yaml")]
    code, output = snakemake(root, tmp_path, *options)
    assert code == 0, output[-5000:]
    run = tmp_path / "results" / "paper-scaled"
    captions = pd.read_parquet(run / "captions.parquet")
    assert captions.groupby("source").size().to_dict() == dict.fromkeys(("human", "machine", "machine_ood"), 40 * 3)
    assert captions.groupby("image_id").split.nunique().eq(1).all()
    machine = json.loads((run / "coco" / "machine.json").read_text())
    meta = json.loads((run / "coco" / "machine.meta.json").read_text())
    assert (meta["model"], meta["beams"], meta["captions"], len(machine)) == ("vit-gpt2", 3, 120, 40)
    metrics = pd.read_csv(run / "metrics.csv")
    assert set(metrics.detector) == {"base", "finetune", "rr", "dropout", "rr_dropout", "rr_m0.1", "rr_m0.3"}
    assert set(metrics.domain) == {"in", "ood"}
    # The base is the released detector as it is; what is trained goes on from its classifier.
    assert metrics[metrics.detector == "base"].auc.notna().any()
    trained = json.loads((run / "detectors" / "rr" / "meta.json").read_text())
    assert trained["training"]["classifier"]["batch_size"] == 512
    assert trained["parameters_trained"] < trained["parameters"]
    for name in ("table1", "table2", "articles", "sweep"):
        assert "0.6381" in (run / "tables" / "table1.md").read_text() or name != "table1"
        assert (run / "tables" / f"{name}.md").stat().st_size > 100
    for name in ("fig3a", "fig3b", "fig4", "fig5", "fig6a", "fig6b", "fig6c", "fig7"):
        assert (run / "figures" / f"{name}.png").stat().st_size > 10_000
    code, output = snakemake(root, tmp_path, *options)
    assert "Nothing to be done" in output


@pytest.mark.slow
def test_the_defenders_study_on_stand_ins(root, tmp_path, monkeypatch):
    monkeypatch.delenv("MUATTACK_DATA", raising=False)
    make_news_and_reviews(tmp_path / "stand_ins", 200, 40)
    configs = [str(root / "config" / "defenders.yaml"), str(HERE / "defenders_scaled.yaml")]
    code, output = snakemake(root, tmp_path, "--cores", "2", "--configfile", *configs)
    assert code == 0, output[-5000:]
    run = tmp_path / "results" / "defenders-scaled"
    # Every row of the files is there, with its own class.
    news, reviews = (pd.read_parquet(run / "datasets" / f"{name}.parquet") for name in ("ag_news", "imdb"))
    for table, classes in ((news, 4), (reviews, 2)):
        assert table.split.value_counts().to_dict() == {"train": 180, "val": 20, "test": 40}
        assert table.label[table.split == "test"].tolist() == [row % classes for row in range(40)]
    assert news.text[news.split == "test"].str.match(r"^\w+ and \w+ on \w+ the \w+ #39;s \w+\\\w+ says \"\w+\" on \w+\.$").all()
    assert reviews.text.str.contains("<br /><br />The plot", regex=False).all()

    defences = ("plain", "pgd_k", "freelb", "pgd_kpp", "freelb_pp")
    victims = [f"{name}.{defence}" for name in ("ag_news", "imdb") for defence in defences]
    recipes = ("textfooler", "textbugger", "textbugger_word", "bert_attack")
    attacks = pd.read_csv(run / "tables" / "attacks.csv")
    assert sorted(zip(attacks.victim, attacks.attack, strict=True)) == sorted((victim, recipe) for victim in victims for recipe in recipes)
    assert (attacks.n == 4).all()
    assert (attacks.n == attacks.skipped + attacks.succeeded + attacks.failed + attacks.timed_out + attacks.errors).all()
    assert not attacks.errors.any()
    assert (attacks.n_test == 40).all()
    # Words tell the classes apart, so these classifiers know something and attacks have what to work on.
    assert (attacks.clean_test[attacks.victim.isin(["ag_news.plain", "imdb.plain"])] > 0.9).all()
    assert attacks.succeeded.sum() > 0
    for row in attacks.itertuples():
        header, records = read_attack(run / "attacks" / row.victim / f"{row.attack}.jsonl")
        assert len(records) == 4
        assert (header["attack"]["rho_max"], header["attack"]["k_max"]) == ({"ag_news": 0.3, "imdb": 0.1}[row.dataset], 50)
    # The paper's values beside ours, where defence, recipe and constraints are the paper's, and nowhere else.
    known = {
        ("ag_news", "textfooler"): 0.52, ("ag_news", "textbugger_word"): 0.56, ("ag_news", "bert_attack"): 0.42,
        ("imdb", "textfooler"): 0.45, ("imdb", "textbugger_word"): 0.43, ("imdb", "bert_attack"): 0.40,
    }  # fmt: skip
    told = attacks[attacks.published_aua.notna()]
    assert {(row.dataset, row.attack): row.published_aua for row in told.itertuples()} == known
    assert set(told.victim) == {"ag_news.freelb_pp", "imdb.freelb_pp"} == set(attacks.victim[attacks.published_clean.notna()])
    (row,) = re.findall(r"^\|.*paper, t = 30.*$", (run / "tables" / "attacks.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [cell.strip() for cell in row.split("|")][3:-1] == ["95", NONE, "52", NONE, "42", "56"]
    assert (run / "figures" / "attack_accuracy.png").stat().st_size > 10_000

    # The ablations laid over it: what is trained already stays, and the norms and ascent steps have their table and figure.
    made = {path: path.stat().st_mtime_ns for path in (run / "classifiers" / "ag_news").glob("*/model.safetensors")}
    configs = [configs[0], str(root / "config" / "ablations.yaml"), configs[1], str(HERE / "ablations_scaled.yaml")]
    code, output = snakemake(root, tmp_path, "--cores", "2", "--configfile", *configs)
    assert code == 0, output[-5000:]
    assert jobs(output)["train_classifier"] == 2
    assert {path: path.stat().st_mtime_ns for path in made} == made
    ablated = pd.read_csv(run / "tables" / "attacks.csv")
    victims = {f"ag_news.{defence}" for defence in ("plain", "freelb", "freelb_norm1", "freelb_pp", "freelb_pp_t1")}
    assert set(zip(ablated.victim, ablated.attack, strict=True)) == {
        (victim, attack) for victim in victims for attack in ("textfooler", "textfooler_k5", "textfooler_rho0.2", "textfooler_q2")
    }
    norms = pd.read_csv(run / "tables" / "attack_norm.csv").drop_duplicates("victim").set_index("victim")
    assert set(norms.index) == victims - {"ag_news.freelb_pp_t1"}
    assert norms.max_norm.dropna().to_dict() == {"ag_news.freelb": 0.01, "ag_news.freelb_norm1": 1.0}
    facts = {name: json.loads((run / "classifiers" / "ag_news" / name / "meta.json").read_text()) for name in ("freelb_pp", "freelb_pp_t1")}
    assert {name: fact["adversarial"]["steps"] for name, fact in facts.items()} == {"freelb_pp": 3, "freelb_pp_t1": 1}
    for figure in ("attack_steps", "attack_k", "attack_rho", "attack_queries"):
        assert (run / "figures" / f"{figure}.png").stat().st_size > 10_000


def check_attacks(run):
    """What the toy data set, its classifiers and the attacks on them must be."""
    toy = pd.read_parquet(run / "datasets" / "toy.parquet")
    assert toy.split.value_counts().to_dict() == {"train": 82, "val": 8, "test": 40}
    assert 'Two lines:\nfresh "rice" for dinner, and null beans.' in set(toy.text)
    scores = pd.read_parquet(run / "classifiers" / "toy" / "plain.scores.parquet")
    assert scores.id.tolist() == toy.id[toy.split == "test"].tolist()
    table = pd.read_csv(run / "tables" / "attacks.csv")
    assert set(zip(table.victim, table.attack, strict=True)) == {
        (victim, attack) for victim in ("finetune", "toy.plain", "toy.freelb_pp") for attack in ("textfooler", "bert_attack")
    }
    assert (table.n == 6).all()
    for row in table.itertuples():
        header, records = read_attack(run / "attacks" / row.victim / f"{row.attack}.jsonl")
        assert (header["victim"], header["texts"], len(records)) == (row.victim, 6, 6)
        assert not (records.status == "error").any(), records.reason.tolist()
        assert (records.status == "skipped").sum() == row.skipped
        # Nothing is dropped, every query is counted, and whatever succeeded keeps to the constraints.
        assert (records.queries >= 1).all()
        for text in records[records.status == "succeeded"].itertuples():
            assert apply_edits(text.original, text.edits) == text.adversarial != text.original
            assert text.similarity >= header["attack"]["epsilon_min"]
            assert 1 <= text.words_changed <= header["attack"]["rho_max"] * text.words
    assert (run / "figures" / "attack_accuracy.png").stat().st_size > 10_000
