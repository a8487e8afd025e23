import html
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from made_attacks import made_config, make_attacks, record, write_run

from muattack.errors import InputError
from muattack.evaluate.attack_families import (
    attack_figures,
    attack_tables,
    constraints_of,
    main_attacks,
    norm_families,
    plain_victim,
    selection_families,
    step_families,
    victims_of,
)
from muattack.evaluate.attack_pages import FORMULAS, attacks_page, marked, plain_text
from muattack.evaluate.attacks import (
    attack_table,
    difference_interval,
    example_table,
    mean_interval,
    norm_table,
    read_runs,
    share_interval,
    write_attack_tables,
)
from muattack.evaluate.intervals import resample_images
from muattack.evaluate.published_attacks import published
from muattack.evaluate.tables import read_csv
from muattack.figures.attacks import draw_attack_figure
from muattack.figures.style import save
from muattack.records import write_records

ROWS = {"files": ["rows.csv"], "format": "csv", "text": ["text"], "label": "label"}
NEWS = {"train": ROWS, "test": ROWS, "labels": {"1": "World", "2": "Sports", "3": "Business", "4": "Sci/Tech"}}
NO_CAPTIONS = {"source": "none"}
FREELB_PP = {"adversarial": {"method": "freelb_pp"}}


def small_config(victims=("finetune", "freelb_pp"), recipes=("textfooler",), **above):
    """Return a configuration with few victims and recipes."""
    drop = {name: None for name in ("textfooler", "textbugger", "bert_attack") if name not in recipes}
    keep = {name: {"recipe": name} for name in recipes}
    return made_config(attacks={"victims": list(victims), "recipes": drop | keep}, **above)


def runs_of(folder, config, **statuses):
    """Write one attack file for each victim from lists of (status, more) and read them."""
    records = {}
    for victim, rows in statuses.items():
        made = [record(f"machine-{number}", 1, status) | more for number, (status, more) in enumerate(rows)]
        records["captions", victim, "textfooler"] = write_run(folder / f"{victim}.jsonl", config, ("captions", victim, "textfooler"), made)
    return read_runs(config, records)


MIXED = [
    *[("skipped", {})] * 2, *[("succeeded", {"queries": 30, "words_changed": 1, "words": 10, "similarity": 0.9})] * 2,
    ("succeeded", {"queries": 60, "words_changed": 4, "words": 10, "similarity": 0.87}), *[("failed", {"queries": 50})] * 4,
    ("timed_out", {"queries": 100}),
]  # fmt: skip


def test_rates_and_means_of_a_counted_example(tmp_path):
    config = small_config()
    row = attack_table(config, runs_of(tmp_path, config, finetune=MIXED), {}, None).iloc[0]
    assert (row.n, row.skipped, row.succeeded, row.failed, row.timed_out, row.errors, row.correct_before) == (10, 2, 3, 4, 1, 0, 8)
    assert (row.clean, row.aua, row.aua_most, row.suc) == (0.8, 0.4, 0.5, 0.375)
    # Wilson's interval of 4 in 10, from his formula.
    assert (row.aua_low, row.aua_high) == pytest.approx((0.16818, 0.68733), abs=1e-5)
    assert row.queries == pytest.approx((30 + 30 + 60 + 4 * 50 + 100) / 8)
    assert row.words_changed == pytest.approx(0.2)
    assert row.similarity == pytest.approx(0.89)
    assert row.queries_low < row.queries < row.queries_high
    assert np.isnan(row.clean_test)
    assert row[["epsilon_min", "k_max", "rho_max", "queries_per_word"]].tolist() == [0.84, 50, 0.3, 50]


def test_a_broken_off_text_helps_neither_side(tmp_path):
    config = small_config()
    rows = [("succeeded", {}), ("failed", {}), ("error", {"queries": 7}), ("error", {"predicted_before": 1, "queries": 7})]
    rows += [("error", {"reason": "IndexError: <b> | \ud800"}), ("failed", {"reason": "rho_max 0.3 lets no word of 3 change"})]
    rows += [("failed", {"reason": "rho_max 0.3 lets no word of 2 change"})]
    runs = runs_of(tmp_path, config, finetune=rows)
    frame = attack_table(config, runs, {}, None)
    assert frame.note[0] == "made up (2); rho_max 0.3 lets no word change (2); IndexError: <b> | \\ud800 (1)"
    assert "Finetune: made up (2); rho&#95;max" not in attacks_page(config, frame, [])
    assert "IndexError: &#60;b&#62; &#124; &#92;ud800 (1)." in attacks_page(config, frame, [])
    row = attack_table(config, runs_of(tmp_path, config, finetune=rows[:4]), {}, None).iloc[0]
    # One error is known to have been right before; neither is right after, none is a success.
    assert (row.errors, row.correct_before, row.aua, row.aua_most) == (2, 3, 0.25, 0.75)
    assert row.suc == pytest.approx(1 / 3)
    assert row.queries == 20


@pytest.mark.parametrize(("rows", "note"), [([], "no text was attacked"), ([("skipped", {})] * 3, "no text was right before the attack")])
def test_what_is_not_defined_is_an_empty_cell(tmp_path, rows, note):
    config = small_config()
    runs = runs_of(tmp_path, config, finetune=rows, freelb_pp=rows)
    records = {run[:3]: tmp_path / f"{run.victim}.jsonl" for run in runs}
    write_attack_tables(
        config, records, {}, None, ["attacks", "attack_examples"], {n: (tmp_path / f"{n}.csv", tmp_path / f"{n}.md") for n in attack_tables(config)}
    )
    frame = read_csv(tmp_path / "attacks.csv")
    assert frame[["suc", "suc_low", "similarity", "words_changed", "queries"]].isna().all(axis=None)
    assert frame.aua.isna().all() if not rows else (frame.aua == 0).all()
    assert set(frame.note) == {note}
    text = (tmp_path / "attacks.md").read_text(encoding="utf-8")
    assert note in text
    assert "nan" not in text.lower()
    assert "No attack succeeded." in (tmp_path / "attack_examples.md").read_text(encoding="utf-8")


def test_one_text_has_a_wide_interval_and_no_mean_interval(tmp_path):
    config = small_config()
    row = attack_table(config, runs_of(tmp_path, config, finetune=[("succeeded", {})]), {}, None).iloc[0]
    assert (row.aua, row.suc, row.queries) == (0, 1, 20)
    assert row.aua_high == pytest.approx(0.79345, abs=1e-5)
    assert np.isnan(row.queries_low)


def test_paired_differences_are_newcombes():
    # Pairs 36, 12, 2, 0 of 50 (Newcombe 1998, paired data): difference 0.20, interval 0.0569 to 0.3404.
    a = np.array([1] * 48 + [0] * 2, bool)
    b = np.array([1] * 36 + [0] * 12 + [1] * 2, bool)
    assert difference_interval(a, b, np.arange(50), 0.95) == pytest.approx((0.2, 0.0569, 0.3404), abs=1e-4)
    assert difference_interval(b, a, np.arange(50), 0.95) == pytest.approx((-0.2, -0.3404, -0.0569), abs=1e-4)
    # Two that always agree: percentiles of resamples would say [0, 0].
    half = np.arange(40) < 20
    _, low, high = difference_interval(half, half, np.arange(40), 0.95)
    assert -0.1 < low < -0.02
    assert high == pytest.approx(-low)
    none = np.zeros(20, bool)
    # Wilson's upper end of 0 in 20.
    assert difference_interval(none, none, np.arange(20), 0.95) == pytest.approx((0, -0.16113, 0.16113), abs=1e-5)
    assert np.isnan(difference_interval(none[:0], none[:0], np.arange(0), 0.95)).all()


def test_texts_of_one_image_are_not_independent():
    hit = np.repeat([True, False, True, False, False], 8)
    image = np.repeat(np.arange(5), 8)
    alone, together = share_interval(hit, np.arange(40), 0.95), share_interval(hit, image, 0.95)
    assert alone[0] == together[0] == 0.4
    assert together[2] - together[1] > 2 * (alone[2] - alone[1])
    values = np.repeat([10.0, 20.0, 60.0, 20.0, 90.0], 8)
    names = np.array([str(one) for one in range(40)], dtype=object)
    clusters = np.array([str(one) for one in image], dtype=object)
    loose = mean_interval(values, names, resample_images(names, 400, 1), 0.95)
    tight = mean_interval(values, clusters, resample_images(clusters, 400, 1), 0.95)
    assert loose[0] == tight[0] == 40
    assert tight[2] - tight[1] > 2 * (loose[2] - loose[1])


def test_victims_are_compared_on_the_same_texts(tmp_path):
    config = small_config()
    rows = [("failed", {})] * 6 + [("succeeded", {})] * 4
    better = [("failed", {})] * 9 + [("succeeded", {})]
    frame = attack_table(config, runs_of(tmp_path, config, finetune=rows, freelb_pp=better), {}, None).set_index("victim")
    assert frame.plain.tolist() == ["finetune", "finetune"]
    assert np.isnan(frame.aua_difference["finetune"])
    assert frame.aua_difference["freelb_pp"] == pytest.approx(0.3)
    # Two that are alike in everything but Aua and Suc: nothing else is in bold.
    rows = cells_of(attacks_page(config, frame.reset_index(), []))
    assert [row for row in rows if row[0] == "FreeLB++"][1][1:6:2] == ["100.0 [72.2, 100.0]", "+30.0 [−7.0, +59.3] °", "20.0 [20.0, 20.0]"]
    assert frame.aua_difference_low["freelb_pp"] == pytest.approx(difference_interval(*_pair(), np.arange(10), 0.95)[1])


def _pair():
    return np.arange(10) < 9, np.arange(10) < 6


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda rows: rows[:-1], "text number 3 differs"),
        (lambda rows: [*rows[:-1], {**rows[-1], "id": "machine-9"}], "text number 3 differs in `id`"),
        (lambda rows: [{**rows[0], "label": 0}, *rows[1:]], "text number 1 differs in `label`"),
        (lambda rows: [rows[1], rows[0], *rows[2:]], "text number 1 differs"),
    ],
)
def test_other_texts_are_refused(tmp_path, change, told):
    config = small_config()
    rows = [record(f"machine-{number}", 1, "failed") for number in range(3)]
    keys = [("captions", victim, "textfooler") for victim in ("finetune", "freelb_pp")]
    records = {key: write_run(tmp_path / f"{key[1]}.jsonl", config, key, made) for key, made in zip(keys, (rows, change(rows)), strict=True)}
    with pytest.raises(InputError, match=told) as error:
        read_runs(config, records)
    assert str(records[keys[0]]) in str(error.value)
    assert str(records[keys[1]]) in str(error.value)


def test_files_of_others_and_of_other_settings_are_refused(tmp_path):
    config = small_config()
    key = ("captions", "finetune", "textfooler")
    rows = [record("machine-0", 1, "failed")]
    with pytest.raises(InputError, match="k_max 10, but the configuration gives textfooler on captions k_max 50"):
        read_runs(config, {key: write_run(tmp_path / "a.jsonl", config, key, rows, k_max=10)})
    with pytest.raises(InputError, match="queries_per_word 20"):
        read_runs(config, {key: write_run(tmp_path / "a.jsonl", config, key, rows, queries_per_word=20)})
    with pytest.raises(InputError, match="not on freelb_pp"):
        read_runs(config, {("captions", "freelb_pp", "textfooler"): write_run(tmp_path / "a.jsonl", config, key, rows)})
    with pytest.raises(InputError, match="which the configuration does not have"):
        read_runs(config, {("captions", "nobody", "textfooler"): tmp_path / "a.jsonl"})
    with pytest.raises(InputError, match="twice"):
        read_runs(config, {key: write_run(tmp_path / "a.jsonl", config, key, rows * 2)})
    other = ("captions", "freelb_pp", "textfooler")
    records = {
        key: write_run(tmp_path / "a.jsonl", config, key, rows),
        other: write_run(tmp_path / "b.jsonl", config, other, rows, measure="angular"),
    }
    with pytest.raises(InputError, match="ran on freelb_pp with measure angular, on finetune with cosine"):
        read_runs(config, records)
    with pytest.raises(InputError, match="no attack table `attack`"):
        write_attack_tables(config, {key: records[key]}, {}, None, ["attack"], {"attack": (tmp_path / "x.csv", tmp_path / "x.md")})


def test_clean_is_accuracy_on_the_whole_test_split_in_distribution(tmp_path):
    config = small_config(victims=("finetune",))
    sources = ["human", "machine", "machine_ood"]
    captions = pd.DataFrame(
        [(f"{source}-{n}", str(n // 2), source, int(source != "human"), "test" if n < 4 else "train") for source in sources for n in range(5)],
        columns=["id", "image_id", "source", "label", "split"],
    )
    # Right on two of four human and three of four machine texts; what the second captioner's texts score must not count. A tie is human.
    scores = {"human": [0.1, 0.5, 0.9, 0.9, 0.9], "machine": [0.9, 0.8, 0.7, 0.5, 0.1], "machine_ood": [0.1] * 5}
    frame = captions.assign(task="clean", operator="", score=[scores[row.source][int(row.id[-1])] for row in captions.itertuples()])
    other = frame.assign(task="mwr", score=0.0)
    write_records(tmp_path / "scores.parquet", pd.concat([frame, other])[["task", "id", "operator", "score"]], {})
    write_records(tmp_path / "captions.parquet", captions, {})
    runs = runs_of(tmp_path, config, finetune=[("failed", {})] * 3 + [("skipped", {})])
    clean = {("captions", "finetune"): tmp_path / "scores.parquet"}
    row = attack_table(config, runs, clean, tmp_path / "captions.parquet").iloc[0]
    assert (row.clean_test, row.n_test, row.n, row.images) == (0.625, 8, 4, 2)
    assert row.note == ""
    runs = runs_of(tmp_path, config, finetune=[("failed", {})] * 4)
    assert "1 texts were classified otherwise" in attack_table(config, runs, clean, tmp_path / "captions.parquet").iloc[0].note
    with pytest.raises(InputError, match=r"needs captions\.parquet"):
        attack_table(config, runs, clean, None)
    runs = runs_of(tmp_path, config, finetune=[("failed", {"label": 0, "predicted_before": 0})])
    with pytest.raises(InputError, match="with label 0, which has label 1 in the scores"):
        attack_table(config, runs, clean, tmp_path / "captions.parquet")
    runs = runs_of(tmp_path, config, finetune=[("failed", {"id": "machine-77"})])
    with pytest.raises(InputError, match="is not among the scored texts"):
        attack_table(config, runs, clean, tmp_path / "captions.parquet")
    write_records(tmp_path / "scores.parquet", frame[frame.id != "human-2"][["task", "id", "operator", "score"]], {})
    with pytest.raises(InputError, match="has no score for 1 of 8 test captions, human-2"):
        attack_table(config, runs, clean, tmp_path / "captions.parquet")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacks")
    defences = {f"freelb_{bound}": {"adversarial": {"method": "freelb", "max_norm": bound}} for bound in (0.5, 0.01)} | {"pgd_kpp": None}
    config = small_config(
        recipes=("textfooler", "textbugger_word"),
        classification={"datasets": {"ag_news": NEWS | {"attacks": {"epsilon_min": 0.84}}}, "defences": defences},
    )
    run = make_attacks(folder, config, texts=24)
    out = {name: (folder / "tables" / f"{name}.csv", folder / "tables" / f"{name}.md") for name in attack_tables(config)}
    write_attack_tables(config, **run, tables=list(out), out=out)
    return config, run, out


def cells_of(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|") and "---" not in line]


def test_every_page_has_its_formulas_and_even_rows(made):
    _, _, out = made
    assert list(out) == ["attacks", "attack_examples", "attack_norm"]
    for csv_path, md_path in out.values():
        assert not pd.read_csv(csv_path).empty
        text = md_path.read_text(encoding="utf-8")
        assert FORMULAS in text
        assert "nan" not in re.findall(r"\w+", text.lower())
        for section in text.split("\n\n"):
            assert not section.startswith("|") or len({len(row) for row in cells_of(section)}) == 1


def test_the_table_for_people_says_what_the_csv_says(made):
    config, _, out = made
    frame = read_csv(out["attacks"][0])
    assert len(frame) == len(victims_of(config)) * 2
    assert frame.dataset.unique().tolist() == ["captions", "ag_news"]
    text = out["attacks"][1].read_text(encoding="utf-8")
    part = text.split("### ag_news: TextFooler")[1].split("###")[0]
    rows = {row[0]: row for row in cells_of(part.split("\n\n")[1])}
    here = frame[(frame.dataset == "ag_news") & (frame.attack == "textfooler")].set_index("victim")
    best = here.aua.idxmax()
    for victim, row in here.iterrows():
        cell = rows[victim.removeprefix("ag_news.")][2]
        assert cell.startswith("**") == (victim == best)
        assert rows[victim.removeprefix("ag_news.")][4].startswith("**") == (victim == here.suc.idxmin())
        assert cell.strip("*") == f"{100 * row.aua:.1f} [{100 * row.aua_low:.1f}, {100 * row.aua_high:.1f}]"
    # Only what the paper ran stands beside ours.
    assert frame.published_aua.notna().sum() == 2
    told = frame[frame.published_aua.notna()].set_index("attack")
    assert told.victim.unique().tolist() == ["ag_news.freelb_pp"]
    assert told.published_aua.to_dict() == {"textfooler": 0.52, "textbugger_word": 0.56}
    assert "| paper, t = 30 | 95 |" in text
    assert "stock_changes" in text
    assert "textattack 0.3.11" in text


def test_the_norm_table_ends_without_a_bound(made):
    _, _, out = made
    norm, attacks = read_csv(out["attack_norm"][0]), read_csv(out["attacks"][0]).set_index(["victim", "attack"])
    assert norm.norm.drop_duplicates().tolist() == ["plain", "0.01", "0.5", "w/o"]
    assert norm.victim.drop_duplicates().tolist() == [f"ag_news.{name}" for name in ("plain", "freelb_0.01", "freelb_0.5", "freelb_pp")]
    for row in norm.itertuples():
        assert (row.aua, row.clean_test) == tuple(attacks.loc[(row.victim, row.attack), ["aua", "clean_test"]])
    rows = cells_of(out["attack_norm"][1].read_text(encoding="utf-8"))
    assert [row[0] for row in rows] == ["ε", "no adversarial training", "0.01", "0.5", "w/o"]
    assert norm_table(small_config(), attacks.reset_index()).empty


@pytest.mark.slow
def test_tables_and_figures_are_the_same_bytes_in_another_process(made, tmp_path):
    config, run, out = made
    code = (
        "import json, sys; from pathlib import Path; from muattack.evaluate.attacks import write_attack_tables; given = json.loads(sys.argv[1]);"
        "write_attack_tables(given['config'], {tuple(k): v for k, v in given['records']}, {tuple(k): v for k, v in given['clean']}, given['captions'],"
        "given['tables'], {n: (f'{sys.argv[2]}/{n}.csv', f'{sys.argv[2]}/{n}.md') for n in given['tables']});"
        "from muattack.figures.attacks import draw_attack_figure; from muattack.figures.style import save; from muattack.evaluate.tables import read_csv;"
        "save(draw_attack_figure('attack_accuracy', read_csv(f'{sys.argv[2]}/attacks.csv'), given['config']), f'{sys.argv[2]}/there.svg'); heavy = {'torch', 'textattack', 'transformers'} & set(sys.modules); sys.exit(', '.join(heavy) or 0)"
    )
    # The other way round, so that nothing may depend on the order of the files.
    pairs = {key: [[list(one), str(path)] for one, path in reversed(run[key].items())] for key in ("records", "clean")}
    given = {"config": config, "captions": str(run["captions"]), "tables": list(out), **pairs}
    environment = {**os.environ, "PYTHONHASHSEED": "11"}
    subprocess.run([sys.executable, "-c", code, json.dumps(given), str(tmp_path)], env=environment, check=True)
    for csv_path, md_path in out.values():
        for path in (csv_path, md_path):
            assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    save(draw_attack_figure("attack_accuracy", read_csv(out["attacks"][0]), config), tmp_path / "here.svg")
    assert (tmp_path / "here.svg").read_bytes() == (tmp_path / "there.svg").read_bytes()
    assert b"<dc:date>" not in (tmp_path / "here.svg").read_bytes()


def test_examples_are_chosen_by_the_rule(tmp_path):
    config = small_config()
    one = [("succeeded", {"words_changed": 3}), ("succeeded", {"similarity": 0.95}), ("succeeded", {"similarity": 0.97}), ("failed", {})]
    two = [("succeeded", {"words_changed": 2}), ("failed", {}), ("succeeded", {"similarity": 0.99}), ("succeeded", {"words_changed": 9})]
    chosen = example_table(runs_of(tmp_path, config, finetune=one, freelb_pp=two))
    told = list(zip(chosen.place, chosen.victim, chosen.id, strict=True))
    # The best of all, then the other victim's best text not shown yet, each text once.
    assert told == [(1, "freelb_pp", "machine-2"), (2, "finetune", "machine-1"), (3, "freelb_pp", "machine-0"), (4, "freelb_pp", "machine-3")]
    assert len(example_table(runs_of(tmp_path, config, finetune=one, freelb_pp=two), 2)) == 2
    wrong = runs_of(tmp_path, config, finetune=[("succeeded", {"edits": [{"start": 0, "end": 1, "replacement": "x"}]})])
    with pytest.raises(InputError, match="edits of text machine-0"):
        example_table(wrong)


HOSTILE = (
    'a | dog <b>|\\| *x* `y` ~~z~~ _w_ $m$ [l](http://e.vil) :smile: www.e.vil <!-- & &amp;\n# head\r\n- list\t"q" \u202eback\u200b\x00 \ud800 null'
)


def seen(shown):
    """Return the text that a reader of Markdown sees."""
    shown = re.sub(r"\[U\+([0-9A-F]{4,6})\]", lambda found: chr(int(found.group(1), 16)), shown)
    return html.unescape(shown.replace("<br>", "\n").replace("&nbsp;", " "))


def test_no_text_breaks_a_page(tmp_path):
    config = small_config()
    start = HOSTILE.index("dog")
    edits = [{"start": start, "end": start + 3, "replacement": "</ins>|\nhund"}]
    adversarial = HOSTILE.replace("dog", "</ins>|\nhund")
    rows = [("succeeded", {"original": HOSTILE, "edits": edits, "adversarial": adversarial, "words": 20}), ("succeeded", {})]
    runs = runs_of(tmp_path, config, finetune=rows)
    out = {"attack_examples": (tmp_path / "e.csv", tmp_path / "e.md")}
    write_attack_tables(config, {run[:3]: tmp_path / "finetune.jsonl" for run in runs}, {}, None, ["attack_examples"], out)
    text = (tmp_path / "e.md").read_text(encoding="utf-8")
    quotes = [line for line in text.splitlines() if line.startswith("> ")]
    assert len(quotes) == 2
    assert len([line for line in text.splitlines() if line.startswith("#")]) == 3
    shown = next(line for line in quotes if "hund" in line)[2:]
    assert set(re.findall(r"<[^>]*>", shown)) == {"<del>", "</del>", "<ins>", "</ins>", "<br>"}
    assert not set("|*`~[$\\@") & set(re.sub(r"\[U\+[0-9A-F]{4,6}\]", "", shown))
    gone = re.sub(r"<ins>.*?</ins>", "", shown).replace("<del>", "").replace("</del>", "")
    put_in = re.sub(r"<del>.*?</del>", "", shown).replace("<ins>", "").replace("</ins>", "")
    assert (seen(gone), seen(put_in)) == (HOSTILE, adversarial)
    # The CSV holds the whole texts; half a surrogate pair alone is written as its number.
    cells = (tmp_path / "e.csv").read_bytes().decode("utf-8")
    back = pd.read_csv(io.StringIO(cells, newline=""), keep_default_na=False).set_index("id")
    assert back.original["machine-0"] == HOSTILE.replace("\ud800", "\\ud800")
    assert json.loads(back.edits["machine-0"]) == edits


@pytest.mark.parametrize("text", ["1. one", "- dash", "# head", "+ plus", "> quote", "=== x", "    four blanks", "123) x", "a_b well-known 0.84"])
def test_the_beginning_of_a_line_makes_no_markup(text):
    shown = plain_text(text)
    assert seen(shown) == text
    assert not re.match(r"\d+[.)]\s|[-+#>=*]|\s{4}", shown)
    assert "a_b well-known 0.84" not in text or shown == text


def test_long_texts_are_shortened_around_the_changes():
    text = "word " * 2000 + "dog" + " word" * 2000
    start = text.index("dog")
    shown = marked(text, [{"start": start, "end": start + 3, "replacement": "cat"}])
    assert "<del>dog</del><ins>cat</ins>" in shown
    assert shown.count("[…]") == 2
    assert len(shown) < 500
    assert marked("dog", [{"start": 0, "end": 3, "replacement": ""}]) == "<del>dog</del>"
    assert marked("", []) == "(empty)"


def test_families_differ_in_one_setting_only():
    freelb = {"adversarial": {"method": "freelb", "max_norm": 0.1}}
    detectors = {
        "f_small": {"adversarial": {"method": "freelb", "max_norm": 0.01}}, "f_large": freelb, "f_rr": freelb | {"rr": 0.3},
        "t_30": {"adversarial": {"method": "freelb_pp", "steps": 30}}, "t_5": FREELB_PP,
        "other": {"adversarial": {"method": "freelb_pp", "steps": 10, "step_size": 0.1}},
    }  # fmt: skip
    recipes = {
        "textfooler_k10": {"recipe": "textfooler", "k_max": 10}, "textfooler_q10": {"recipe": "textfooler", "queries_per_word": 10},
        "textfooler_r1": {"recipe": "textfooler", "rho_max": 0.1}, "pwws_k10": {"recipe": "pwws", "k_max": 10},
    }  # fmt: skip
    victims = [*detectors, "freelb_pp", "finetune", "absent"]
    config = made_config(detectors=detectors) | {"attacks": made_config(attacks={"recipes": recipes})["attacks"] | {"victims": victims}}
    (norm,) = norm_families(config)
    assert (norm.dataset, norm.kind, norm.label) == ("captions", "freelb", "FreeLB")
    assert list(norm.members.items()) == [("f_small", 0.01), ("f_large", 0.1), ("t_5", None)]
    (steps,) = step_families(config)
    assert (steps.label, list(steps.members.items())) == ("FreeLB++", [("freelb_pp", 3), ("t_5", 5), ("t_30", 30)])
    assert [list(family.members.items()) for family in selection_families(config, "k_max")] == [[("textfooler_k10", 10), ("textfooler", 50)]]
    assert [list(family.members.items()) for family in selection_families(config, "rho_max")] == [[("textfooler_r1", 0.1), ("textfooler", 0.3)]]
    assert [list(family.members.items()) for family in selection_families(config, "queries_per_word")] == [
        [("textfooler_q10", 10), ("textfooler", 50)]
    ]
    assert main_attacks(config) == ["textfooler", "textbugger", "bert_attack", "pwws_k10"]
    assert attack_tables(config) == ["attacks", "attack_examples", "attack_norm"]
    assert attack_figures(config) == ["attack_accuracy", "attack_steps", "attack_k", "attack_rho", "attack_queries"]
    assert "absent" not in [victim for _, victim in victims_of(config)]


def test_what_a_run_lacks():
    assert attack_figures(made_config()) == ["attack_accuracy"]
    assert attack_tables(made_config(attacks={"victims": []})) == []
    assert attack_figures(made_config(attacks={"recipes": dict.fromkeys(["textfooler", "textbugger", "bert_attack"])})) == []
    config = made_config(captions=NO_CAPTIONS, classification={"datasets": {"news": NEWS | {"attacks": {"rho_max": 0.1}}}})
    assert list(victims_of(config)) == [("news", f"news.{name}") for name in ("plain", "pgd_kpp", "freelb_pp")]
    assert constraints_of(config, "news", "textfooler")["rho_max"] == 0.1
    assert constraints_of(config, "captions", "textfooler")["rho_max"] == 0.3


def test_the_plain_victim_has_no_defence():
    assert plain_victim(made_config(), "captions") == "finetune"
    assert plain_victim(made_config(detectors={"finetune": {"rr": 0.2}}), "captions") is None
    assert plain_victim(made_config(detectors={"finetune": {"start": "base"}}), "captions") == "finetune"
    assert plain_victim(made_config(detectors={"finetune": {"start": "rr"}}), "captions") is None
    config = made_config(attacks={"victims": ["rr", "mine"]}, detectors={"mine": {}})
    assert plain_victim(config, "captions") == "mine"


def test_published_values_stand_only_where_all_corresponds():
    config = made_config(classification={"datasets": {"AG-News": NEWS, "imdb": NEWS}})
    attack = {"recipe": "textfooler", "epsilon_min": 0.84, "k_max": 50, "rho_max": 0.3, "queries_per_word": 50}
    assert published(config, "AG-News", FREELB_PP, attack) == (0.95, 0.52)
    assert published(config, "AG-News", FREELB_PP, attack | {"recipe": "bert_attack", "epsilon_min": 0.840845}) == (0.95, 0.42)
    for other in ({"k_max": 10}, {"rho_max": 0.1}, {"epsilon_min": 0.9}, {"queries_per_word": 20}, {"recipe": "textbugger"}, {"recipe": "pwws"}):
        assert published(config, "AG-News", FREELB_PP, attack | other) == (0.95, None)
    for settings in ({}, {"adversarial": {"method": "freelb"}}, FREELB_PP | {"rr": 0.3}, {"adversarial": {"method": "pgd_kpp"}}):
        assert published(config, "AG-News", settings, attack) == (None, None)
    # Four classes are no IMDB, captions are neither.
    assert published(config, "imdb", FREELB_PP, attack | {"rho_max": 0.1}) == (None, None)
    assert published(config, "captions", FREELB_PP, attack) == (None, None)


def test_parameters_are_told_in_words():
    from muattack.evaluate.attack_pages import _told

    encoder = {"path": "a-package", "pooling": "mean", "sha256": "0123456789abcdef" * 4}
    assert _told(encoder) == "path a-package, pooling mean, sha256 0123456789ab…"
    assert [_told(value) for value in (["swap", "delete"], 0.84, None, "delete", True)] == ["swap, delete", "0.84", "null", "delete", "true"]


def test_a_defence_that_others_only_start_from_is_no_victim():
    from muattack.config import read_config

    config = read_config()
    config["captions"]["source"] = "none"
    config["classification"] |= {"datasets": {"news": {}}, "defences": {"warm": {"attacked": False}, "plain": {"start": "warm", "attacked": True}}}
    assert victims_of(config) == {("news", "news.plain"): {"start": "warm"}}
    assert plain_victim(config, "news") == "news.plain"
