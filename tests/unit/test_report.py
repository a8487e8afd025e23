"""The report: what it says in words, what its viewer holds, and the page in a real browser."""

import base64
import gzip
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from made_attacks import made_config, record, write_run
from made_scores import MUTATE, make_run

from muattack.evaluate.metrics import compute_metrics
from muattack.evaluate.tables import BUILDERS, Inputs
from muattack.records import read_records, write_records
from muattack.report.headline import findings, worst_tasks
from muattack.report.mutants import Viewer
from muattack.report.page import heat_map, times_of, write_report

DETECTORS = ("base", "finetune", "rr")
HOSTILE = '</script><script>document.title="taken"</script><b>the</b> 👩‍🚀 dog'


@pytest.fixture(scope="module")
def config():
    made = made_config(attacks={"victims": ["finetune"], "recipes": {"textbugger": None, "bert_attack": None}})
    return made | {"detectors": {name: made["detectors"][name] for name in DETECTORS}, "mutate": MUTATE | {"keep": "changed"}}


@pytest.fixture(scope="module")
def made(tmp_path_factory, config):
    """A made-up run: its files, its frames by name, the Markdown of its tables, and a viewer."""
    folder = tmp_path_factory.mktemp("report")
    run = make_run(folder, images=12, detectors=DETECTORS)
    for path in run["mutants"].values():
        frame = read_records(path)
        edits = [[{"start": 0, "end": 3, "replacement": ""}] if changed else [] for changed in frame["changed"]]
        mutated = [text[3:] if changed else text for text, changed in zip(frame["text"], frame["changed"], strict=True)]
        write_records(path, frame.assign(edits=edits, mutated=mutated), {})
    evaluate = config["evaluate"] | {"bootstrap": 30}
    metrics, differences = compute_metrics(run["captions"], run["scores"], run["mutants"], evaluate, config["mutate"], 1)
    inputs = Inputs(run["captions"], metrics, differences, run["operators"], run["scores"], config)
    frames, pages = {"metrics": metrics, "differences": differences}, {}
    for name in ("articles", "operators", "table2", "tasks"):
        frames[name], pages[name] = BUILDERS[name](inputs)
    # An image of a text that would run, were it not escaped, and whose positions differ between Python and JavaScript.
    where = HOSTILE.index("dog")
    attacked = [
        record("h-1", 1, "succeeded", original=HOSTILE, edits=[{"start": where, "end": where + 3, "replacement": "<i>cat</i>"}], adversarial="x"),
        record("h-2", 1, "failed"),
        record("h-3", 1, "timed_out"),
    ]
    path = write_run(folder / "textfooler.jsonl", config, ("captions", "finetune", "textfooler"), attacked)
    viewer = Viewer(DETECTORS)
    viewer.add_attacks([path], {"captions": ["human", "machine"]})
    viewer.add_mutants(run["captions"], run["mutants"], run["scores"], 0.5)
    return {"run": run, "frames": frames, "pages": pages, "viewer": viewer, "folder": folder, "attack": path}


@pytest.fixture(scope="module")
def page(made, config):
    """The page's file."""
    figure = made["folder"] / "figures" / "fig4.png"
    figure.parent.mkdir()
    figure.write_bytes(b"png")
    figure.with_suffix(".svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20"/></svg>')
    path = made["folder"] / "report.html"
    meta = {"versions": {"python": "3.11"}, "machine": "x86_64", "inputs": {"a<b>.json": "0" * 64}}
    times = [{"rule": "train_detector", "jobs": 2, "seconds": 3.0, "cpu": 2.5, "memory": 900}]
    write_report(path, config, meta, made["frames"], made["pages"], [figure], made["viewer"], times)
    return path


def carried(page):
    """The data that a page carries."""
    found = re.search(r'<script type="text/plain" id="data">([^<]*)</script>', page.read_text(encoding="utf-8"))
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def test_findings_tell_the_numbers_of_the_tables(made, config):
    told = findings(config, made["frames"])
    worst = worst_tasks(config, made["frames"]["metrics"]).set_index("detector").loc["finetune"]
    inside = made["frames"]["metrics"].query("domain == 'in' and detector == 'finetune' and task in ['mwr', 'mwj', 'mwd', 'mcr', 'mcj', 'mcd']")
    # A task of a few texts does not make the headline.
    assert set(inside[inside.n_machine < 10].task) >= {"mwd"}
    assert worst.auc == inside[inside.n_machine >= 10].auc.min()
    assert f"{worst.auc:.3f} [{worst.auc_low:.3f}, {worst.auc_high:.3f}]" in told[0]
    assert f"n = {worst.n_human:,} human and {worst.n_machine:,} machine texts" in told[0]
    assert any(sentence.startswith("**RR-training**") for sentence in told)
    assert any(sentence.startswith("**Without an article**") and sentence.count("%") >= 3 for sentence in told)
    assert findings(config, {}) == []


def test_findings_of_attacks_name_the_best_and_whether_it_is_settled():
    config = made_config()
    row = {
        "dataset": "captions", "attack": "textfooler", "plain": "finetune", "clean": 0.9, "n": 30, "aua_difference": np.nan, "aua_difference_low": np.nan,
        "aua_difference_high": np.nan,
    }  # fmt: skip
    plain = row | {"victim": "finetune", "aua": 0.2, "aua_low": 0.1, "aua_high": 0.3}
    better = row | {
        "victim": "rr",
        "aua": 0.3,
        "aua_low": 0.2,
        "aua_high": 0.4,
        "aua_difference": 0.1,
        "aua_difference_low": -0.05,
        "aua_difference_high": 0.2,
    }
    (sentence,) = findings(config, {"attacks": pd.DataFrame([plain, better])})
    assert "Finetune stays right on 20.0 % [10.0, 30.0] of 30 texts (90.0 % before)" in sentence
    assert "RR (m = 0.3), on 30.0 % [20.0, 40.0]: +10.0 [−5.0, +20.0] points, which includes 0." in sentence
    (sentence,) = findings(config, {"attacks": pd.DataFrame([plain, better | {"aua": 0.1}])})
    assert "none of the others on more" in sentence
    # As good as the plain one is not better, whichever stands first.
    (sentence,) = findings(config, {"attacks": pd.DataFrame([better | {"aua": 0.2}, plain])})
    assert "none of the others on more" in sentence


def test_findings_of_the_families():
    severity = pd.DataFrame(
        [("imdb", "plain", s, "accuracy", 100, v, v - 0.1, v + 0.1) for s, v in ((0.0, 0.8), (1.0, 0.6))],
        columns=["dataset", "classifier", "severity", "metric", "n", "value", "low", "high"],
    )
    normalisers = pd.DataFrame(
        [("a", "overall", 9, 0.5, 0.4, 0.6), ("b", "overall", 9, 0.7, 0.6, 0.8)], columns=["normaliser", "type", "n", "value", "low", "high"]
    )
    transfer = pd.DataFrame(
        [
            ("hotel", "rewrite", "plain", "source", "attacked", "success", 9, 0.4, 0.3, 0.5),
            ("hotel", "rewrite", "chat", "target", "attacked", "success", 8, 0.3, 0.2, 0.4),
        ],
        columns=["dataset", "method", "model", "role", "texts", "measure", "n", "value", "low", "high"],
    )
    told = findings({}, {"severity": severity, "normalisers": normalisers, "transfer": transfer})
    assert "severity 1 take the accuracy of plain on imdb from 80.0 % [70.0, 90.0] to 60.0 % [50.0, 70.0] (n = 100)" in told[0]
    assert "Of 2 **normalisers**, b restores most perturbed words: 70.0 % [60.0, 80.0] of 9." in told[1]
    assert "carries over to chat most often: 30.0 % [20.0, 40.0] of 8 texts" in told[3]


def test_viewer_has_every_changed_mutant_and_what_became_of_it(made):
    run, viewer = made["run"], made["viewer"]
    changed = sum(read_records(path)["changed"].sum() for path in run["mutants"].values())
    assert viewer.found == changed + 2
    assert len(viewer.rows) == changed + 2
    data = viewer.data()
    scores = {name: read_records(path).set_index(["task", "id", "operator"]).score for name, path in run["scores"].items()}
    rows = iter(data["rows"][2:])
    sources = run["captions"].set_index("id").source
    for task, path in run["mutants"].items():
        for mutant in read_records(path).query("changed").itertuples():
            group, text, label, edits, outcome, before, after = next(rows)
            assert (data["groups"][group], data["texts"][text], label, edits) == (task, mutant.text, sources[mutant.id], [0, 3, ""])
            for place, name in enumerate(DETECTORS):
                one, two = scores[name]["clean", mutant.id, ""], scores[name][task, mutant.id, ""]
                assert (before[place], after[place]) == (round(1000 * one), round(1000 * two))
                assert outcome[place] == ("x" if one < 0.5 else "f" if two < 0.5 else "w")
    assert data["rows"][0][4:] == ["-f-", [None, 900, None], [None, 300, None]]


def test_viewer_takes_evenly_from_all_sets_where_there_are_more_than_fit(made):
    viewer = Viewer(DETECTORS, limit=60)
    viewer.add_mutants(made["run"]["captions"], made["run"]["mutants"], made["run"]["scores"], 0.5)
    counts = pd.Series([row[0] for row in viewer.rows]).value_counts()
    assert len(viewer.rows) == 60
    sizes = {name: int(read_records(path)["changed"].sum()) for name, path in made["run"]["mutants"].items()}
    assert set(viewer.groups) == {name for name, size in sizes.items() if size}
    # Short sets give all they have, the others as many as each other.
    enough = [counts[place] for place, name in enumerate(viewer.groups) if sizes[name] > 6]
    assert max(enough) - min(enough) <= 1
    assert all(counts[place] == sizes[name] for place, name in enumerate(viewer.groups) if sizes[name] < 4)


def test_heat_map_has_a_cell_for_every_detector_and_task(made, config):
    found = heat_map(config, made["frames"]["metrics"], "in")
    assert [row["name"] for row in found["rows"]] == ["Base", "Finetune", "RR (m = 0.3)"]
    assert found["tasks"][:2] == ["H vs. M", "H vs. M_mwr"]
    row = made["frames"]["metrics"].query("domain == 'in' and detector == 'rr' and task == 'mcr'").iloc[0]
    assert found["rows"][2]["cells"][found["tasks"].index("H vs. M_mcr")]["shown"] == f"{row.auc:.2f}"


def test_the_page_is_the_same_every_time_and_loads_nothing(page, made, config):
    text = page.read_text(encoding="utf-8")
    assert page.stat().st_size < 10_000_000
    assert "<script>document.title" not in text
    assert "a&lt;b&gt;.json" in text
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", re.sub(r"<style>.*?</style>|<script.*?</script>", "", text, flags=re.DOTALL))
    assert carried(page)["texts"][0] == HOSTILE


def test_times_are_sums_of_the_benchmarks(tmp_path):
    (tmp_path / "train").mkdir()
    for name, seconds in (("a", 1.5), ("b", 2.0)):
        (tmp_path / "train" / f"{name}.tsv").write_text(f"s\tcpu_time\tmax_rss\n{seconds}\t1.0\t{100 * seconds}\n")
    (tmp_path / "plot").mkdir()
    assert times_of(tmp_path) == [{"rule": "train", "jobs": 2, "seconds": 3.5, "cpu": 2.0, "memory": 200}]


ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.mark.slow
@pytest.mark.enable_socket
def test_the_page_works_in_a_browser(page):
    playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed: pip install playwright")
    found = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("there is no Chromium on this machine: apt-get install chromium")
    said = []
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=found, args=ARGUMENTS)
        tab = browser.new_page(viewport={"width": 1200, "height": 900})
        tab.set_default_timeout(120_000)
        tab.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else said.append(request.url))
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready]")
        assert tab.title().startswith("muattack")

        # Filters: one attack, then one outcome; the hostile text is shown, not run.
        tab.select_option("#by-group", label="textfooler (attack)")
        assert tab.inner_text("#counted") == "Finetune: 2 texts, 1 fooled, 1 withstood, 0 wrong before."
        tab.select_option("#by-outcome", "f")
        row = tab.locator("#text-table tbody tr")
        assert row.count() == 1
        assert row.locator("del").inner_text() == "dog"
        assert row.locator("ins").inner_text() == "<i>cat</i>"
        assert "</script>" in row.inner_text()
        assert "0.900" in row.inner_text()

        # Another detector was not asked about this text.
        tab.select_option("#by-detector", label="Base")
        assert "Base: 0 texts" in tab.inner_text("#counted")
        tab.select_option("#by-group", "")
        tab.select_option("#by-outcome", "")
        tab.select_option("#by-detector", label="Finetune")

        # Sorting by the score after, with the keyboard.
        heading = tab.locator("#text-table thead th", has_text="Score after")
        heading.focus() if heading.get_attribute("tabindex") else heading.locator("[tabindex]").first.focus()
        tab.keyboard.press("Enter")
        tab.wait_for_timeout(200)
        shown = [float(text) for text in tab.locator("#text-table tbody td:last-child").all_inner_texts()]
        assert shown == sorted(shown)
        assert len(shown) == 10

        # The search box finds words of the mutant.
        tab.locator("#texts input[type=search]").fill("zzzz")
        tab.wait_for_timeout(500)
        assert "Finetune: 0 texts" in tab.inner_text("#counted")

        # At phone width nothing sticks out.
        tab.set_viewport_size({"width": 360, "height": 780})
        tab.wait_for_timeout(300)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360
        browser.close()
    assert said == []
