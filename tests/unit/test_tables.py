import re

import numpy as np
import pandas as pd
import pytest
from made_scores import MUTATE, SETTINGS, make_run

from muattack.errors import InputError
from muattack.evaluate.metrics import compute_metrics
from muattack.evaluate.operators import count_operators, count_sets
from muattack.evaluate.published import OPERATORS, PUBLISHED, is_doubtful, published
from muattack.evaluate.tables import BUILDERS, Inputs, interval, number, read_csv, write_csv, write_tables
from muattack.records import read_records, write_records

DETECTORS = {"base": {"train_on": "base"}, "finetune": {}, "rr": {"rr": 0.3}, "rr_m0.2": {"rr": 0.2}, "rr_m0.5": {"rr": 0.5}}
DETECTORS["guarded"] = {"use": "run:detectors/rr_m0.2", "defend": ["zero-width", "confusables"]}
CONFIG = {"captions": {"source": "simulate"}, "detectors": DETECTORS, "mutate": MUTATE, "evaluate": SETTINGS, "seed": 1}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    run = make_run(folder, detectors=tuple(DETECTORS))
    for name, frame in zip(
        ("metrics", "differences"),
        compute_metrics(run["captions"], run["scores"], run["mutants"], SETTINGS, MUTATE, 1, [("guarded", "rr_m0.2")]),
        strict=True,
    ):
        write_csv(folder / f"{name}.csv", frame)
    frames = read_csv(folder / "metrics.csv"), read_csv(folder / "differences.csv")
    inputs = Inputs(run["captions"], *frames, run["operators"], run["scores"], CONFIG)
    write_tables(BUILDERS, folder / "tables", inputs)
    return folder, inputs, run


def rows_of(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|") and "---" not in line]


def test_every_table_is_written_twice_and_read_back(made):
    folder, _, _ = made
    for name in BUILDERS:
        assert not pd.read_csv(folder / "tables" / f"{name}.csv").empty
        text = (folder / "tables" / f"{name}.md").read_text(encoding="utf-8")
        assert text.startswith("# ")
        assert "nan" not in text.lower().split()
        widths = [{len(row) for row in rows_of(section)} for section in text.split("\n\n") if section.startswith("|")]
        assert widths
        assert all(len(width) == 1 for width in widths)


def test_csv_keeps_every_digit_and_empty_cells(tmp_path):
    frame = pd.DataFrame({"detector": ["null", "a"], "auc": [1 / 3, np.nan], "note": ["", "no text"]})
    write_csv(tmp_path / "x.csv", frame)
    pd.testing.assert_frame_equal(read_csv(tmp_path / "x.csv").astype(frame.dtypes), frame, check_exact=True)
    assert (tmp_path / "x.csv").read_text() == "detector,auc,note\nnull,0.3333333333333333,\na,,no text\n"


def test_numbers_of_tables_1_and_2_are_those_of_metrics(made):
    folder, inputs, _ = made
    metrics = inputs.metrics.set_index(["detector", "domain", "task"])
    columns = {"auc": ("auc", "auc_low"), "accuracy": ("accuracy", "accuracy_low"), "tpr": ("tpr_at_fpr5", "tpr_low")}
    for name, shown in (("table1", {"base"}), ("table2", {"finetune", "rr"})):
        table = read_csv(folder / "tables" / f"{name}.csv")
        assert set(table.detector) == shown
        assert len(table) == len(shown) * 2 * 3 * 7
        for row in table.itertuples():
            about = metrics.loc[(row.detector, row.domain, row.task)]
            for value, column in zip((row.value, row.low), columns[row.metric], strict=True):
                assert value == about[column] or (np.isnan(value) and np.isnan(about[column]))
            assert row.n_machine == about.n_machine
            if row.domain == "in" and row.metric != "tpr":
                assert row.published == PUBLISHED[row.detector][row.metric][row.task]
            else:
                assert np.isnan(row.published)


def test_table_2_prints_the_higher_in_bold_and_marks_what_is_open(made):
    folder, inputs, _ = made
    text = (folder / "tables" / "table2.md").read_text(encoding="utf-8")
    section = rows_of(text.split("## ")[1])
    tasks = [f"H vs. M_{task}" if task != "H_vs_M" else "H vs. M" for task in ("H_vs_M", *MUTATE["tasks"])]
    assert section[0] == ["Metric", "Model", *tasks]
    rows = inputs.metrics[inputs.metrics.domain == "in"].set_index(["detector", "task"])
    pair = inputs.differences.query("detector_a == 'rr' and domain == 'in' and metric == 'auc'").set_index("task")
    finetune, rr, difference = section[1][2:], section[3][2:], section[5][2:]
    assert section[1][:2] == ["AUC", "Finetune"]
    assert section[3][:2] == ["AUC", "RR (m = 0.3)"]
    for task, ours, theirs, change in zip(("H_vs_M", *MUTATE["tasks"]), finetune, rr, difference, strict=True):
        a, b = rows.auc["finetune", task], rows.auc["rr", task]
        assert ours == (f"**{a:.3f}**" if a >= b else f"{a:.3f}")
        assert theirs == (f"**{b:.3f}**" if b >= a else f"{b:.3f}")
        assert change.endswith("°") == (pair.low[task] <= 0 <= pair.high[task])
        assert float(change.rstrip(" °").replace("−", "-")) == pytest.approx(b - a, abs=0.0006)
    assert "0.6788 ?" in text
    assert "11 of 14" in text


def test_the_papers_figures():
    assert published("base", "auc", "mcj") == published("base", "auc", "mcr") == 0.0676
    assert published("rr", "accuracy", "mcj") == 0.6135
    assert published("dropout", "auc", "mcr") is None
    assert is_doubtful("auc", "mcj")
    assert not is_doubtful("accuracy", "mcj")
    assert OPERATORS == 3 * (3 + 527 + 255)
    # As the paper counts: RR ahead on 11 of 14.
    ahead = [PUBLISHED["rr"][metric][task] > value for metric, tasks in PUBLISHED["finetune"].items() for task, value in tasks.items()]
    assert (sum(ahead), len(ahead)) == (11, 14)


def test_operators_by_hand(tmp_path):
    captions = pd.DataFrame({"id": ["m-1-0", "m-1-1", "m-2-0", "m-3-0"], "image_id": ["1", "1", "2", "3"]})
    pairs = [("m-1-0", "w:red"), ("m-1-1", "w:red"), ("m-2-0", "w:red"), ("m-3-0", "w:red"), ("m-3-0", "w:big")]
    operators = pd.DataFrame(pairs, columns=["id", "operator"])
    operators["set"], operators["word"] = "w", operators.operator.str[2:]
    write_records(tmp_path / "operators.parquet", operators, {})
    clean = pd.DataFrame({"task": "clean", "id": captions.id, "operator": "", "score": [0.9, 0.5, 0.2, 0.8]})
    mutants = operators[["id", "operator"]].assign(task="operators", score=[0.1, 0.6, 0.3, 0.5, 0.4])
    write_records(tmp_path / "finetune.parquet", pd.concat([clean, mutants]).iloc[::-1], {})
    table = count_operators(captions, tmp_path / "operators.parquet", {"finetune": tmp_path / "finetune.parquet"}, SETTINGS)
    # Worst first: "big" fools 1 of 1, "red" 2 of 4 (0.1 and 0.3; a score of 0.5 is machine).
    assert table.operator.tolist() == ["w:big", "w:red"]
    red = table.iloc[1]
    assert red[["mutants", "images", "fooled", "missed_before", "detected_before"]].tolist() == [4, 3, 0.5, 0.25, 3]
    assert red.flipped == pytest.approx(1 / 3)
    assert red.fooled_low < 0.5 < red.fooled_high
    assert count_sets(table)[["applied", "mutants", "fooled"]].iloc[0].tolist() == [2, 5, 0.6]
    write_records(tmp_path / "short.parquet", pd.concat([clean, mutants.iloc[1:]]), {})
    with pytest.raises(InputError, match="m-1-0 \\(w:red\\)"):
        count_operators(captions, tmp_path / "operators.parquet", {"finetune": tmp_path / "short.parquet"}, SETTINGS)


def test_operator_page_ranks_frequent_operators_and_counts_all(made, tmp_path):
    _, inputs, _ = made
    sets = [{"name": name, "nominal": 3, "effective": 2} for name in ("word_articles", "char_a_articles")]
    write_records(tmp_path / "operators.parquet", read_records(inputs.operators), {"sets": sets})
    told = Inputs(inputs.captions, inputs.metrics, inputs.differences, tmp_path / "operators.parquet", inputs.scores, CONFIG)
    frame, text = BUILDERS["operators"](told)
    assert len(frame) == 4 * len(DETECTORS)
    assert frame.drop_duplicates("operator").mutants.sum() == 58
    ranking = rows_of(text.split("worst operators")[1])
    shown = [row[:2] for row in ranking[1:]]
    finetune = frame[frame.detector == "finetune"]
    expected = finetune[finetune.mutants >= 3]
    assert shown == expected[["set", "word"]].to_numpy().tolist()
    assert expected.fooled.is_monotonic_decreasing
    assert "2,355" in text
    total = next(row for row in rows_of(text) if row[0] == "**all**")
    assert total[1:5] == ["6", "4", "4", "58"]


def test_a_defence_is_shown_off_and_on_with_paired_differences(made):
    folder, inputs, _ = made
    table = read_csv(folder / "tables" / "defended.csv")
    assert set(table.defended) == {"guarded"}
    assert set(table.detector) == {"rr_m0.2"}
    assert set(table.defend) == {"zero-width + confusables"}
    metrics = inputs.metrics.set_index(["detector", "domain", "task"])
    for row in table[table.metric == "auc"].itertuples():
        assert (row.off, row.on) == tuple(metrics.auc[name, row.domain, row.task] for name in ("rr_m0.2", "guarded"))
        assert row.difference == pytest.approx(row.on - row.off, nan_ok=True)
    text = (folder / "tables" / "defended.md").read_text(encoding="utf-8")
    assert "## RR (m = 0.2) behind zero-width, then confusables: out of distribution" in text
    row = table[(table.metric == "auc") & (table.task == "mwr") & (table.domain == "in")].iloc[0]
    assert f"| {number(row.difference, sign=True)}" in text
    assert f"| {interval(row.low, row.high, sign=True)} | {row.n_human} / {row.n_machine} |" in text


def test_sweep_starts_with_finetune_and_carries_the_differences(made):
    folder, inputs, _ = made
    table = read_csv(folder / "tables" / "sweep.csv")
    assert table[table.domain == "in"].m.drop_duplicates().tolist() == [0, 0.2, 0.5]
    assert table[table.m == 0].difference.isna().all()
    row = table[(table.m == 0.2) & (table.task == "mwr") & (table.domain == "ood")].iloc[0]
    about = inputs.metrics.set_index(["detector", "domain", "task"]).auc
    assert row.difference == pytest.approx(about["rr_m0.2", "ood", "mwr"] - about["finetune", "ood", "mwr"])


def test_article_page_shows_per_cent(made):
    folder, _, _ = made
    table = read_csv(folder / "tables" / "articles.csv")
    assert table.n.tolist() == [200] * 3
    text = (folder / "tables" / "articles.md").read_text(encoding="utf-8")
    assert f"| {100 * table.share[0]:.3f} |" in text
    assert re.search(r"\| about 4 \|", text)


def test_a_run_without_the_detectors_says_so(made, tmp_path):
    _, inputs, _ = made
    scores = {"finetune": inputs.scores["finetune"]}
    few = Inputs(inputs.captions, inputs.metrics.query("detector == 'finetune'"), inputs.differences.iloc[:0], inputs.operators, scores, CONFIG)
    write_tables(BUILDERS, tmp_path, few)
    assert "This run has none" in (tmp_path / "table1.md").read_text()
    assert "This run has none" in (tmp_path / "differences.md").read_text()
    assert "**" not in (tmp_path / "table2.md").read_text().split("## ")[1]


def test_numbers_for_people():
    assert number(-0.12345, sign=True) == "−0.123"
    assert number(np.nan) == interval(np.nan, np.nan) == "–"
    assert interval(0.1, 0.25, 2) == "[0.10, 0.25]"
