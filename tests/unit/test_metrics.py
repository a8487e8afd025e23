import hashlib
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from made_scores import MUTATE, SETTINGS, make_run
from sklearn.metrics import accuracy_score, roc_auc_score, roc_curve

from muattack.errors import InputError
from muattack.evaluate.auc import auc_value
from muattack.evaluate.intervals import resample_images
from muattack.evaluate.metrics import (
    HumanSide,
    allowed_alarms,
    collect_texts,
    compute_lengths,
    compute_metrics,
    default_pairs,
    length_buckets,
    roc_points,
    threshold_at_fpr,
)
from muattack.records import read_records, write_records


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def results(run):
    return compute_metrics(run["captions"], run["scores"], run["mutants"], SETTINGS, MUTATE, 1)


def test_auc_by_hand():
    low, high = np.array([0.1, 0.2]), np.array([0.8, 0.9])
    assert auc_value(low, high) == 1
    assert auc_value(high, low) == 0
    assert auc_value(low, low) == 0.5
    assert auc_value(np.array([0.5]), np.array([0.5, 0.7, 0.1])) == 0.5
    assert np.isnan(auc_value(low, np.array([])))
    assert np.isnan(auc_value(np.array([]), low))


def test_threshold_is_the_exact_quantile():
    scores = np.arange(1, 21) / 100
    # 5 % of 20 is one text; of 19, none; of 39, one; of 40, two.
    assert threshold_at_fpr(scores, 0.05) == 0.19
    assert threshold_at_fpr(scores[:19], 0.05) == 0.19
    assert threshold_at_fpr(np.arange(39.0), 0.05) == 37
    assert threshold_at_fpr(np.arange(40.0), 0.05) == 37
    # A tie at the cut: all ten top texts score the same, and none of them may be called machine.
    tied = np.array([0.1] * 90 + [0.9] * 10)
    assert threshold_at_fpr(tied, 0.05) == 0.9
    assert threshold_at_fpr(tied, 0.1) == 0.1
    # 0.07 * 100 is 7.000000000000001 and 0.29 * 100 is 28.999999999999996 in floating point.
    assert allowed_alarms(100, 0.07) == 7
    assert allowed_alarms(100, 0.29) == 29


@pytest.mark.parametrize("seed", range(20))
def test_threshold_is_the_smallest_score_that_keeps_the_rate(seed):
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 30, int(rng.integers(1, 200))) / 30
    cut = threshold_at_fpr(human, 0.05)
    assert (human > cut).sum() <= 0.05 * len(human)
    smaller = human[human < cut]
    assert not len(smaller) or (human > smaller.max()).sum() > 0.05 * len(human)


@pytest.mark.parametrize("seed", range(8))
def test_every_resample_equals_sklearn_with_weights(seed):
    """AUC, accuracy and TPR of each resample, with ties, against sklearn on texts weighted by how often they were drawn."""
    rng = np.random.default_rng(seed)
    images, n_human, n_machine = 12, int(rng.integers(5, 80)), int(rng.integers(1, 120))
    human, machine = rng.integers(0, 15, n_human) / 14, rng.integers(3, 18, n_machine) / 17
    at_human, at_machine = rng.integers(0, images, n_human), rng.integers(0, images, n_machine)
    drawn = resample_images([f"{i:02d}" for i in range(images)], 6, seed)
    side = HumanSide(human, at_human, drawn, SETTINGS)
    estimate, values = side.against(machine, at_machine)
    label, score = np.repeat([0, 1], [n_human, n_machine]), np.concatenate([human, machine])
    assert estimate["auc"] == pytest.approx(roc_auc_score(label, score), abs=1e-12)
    assert estimate["accuracy"] == pytest.approx(accuracy_score(label, score >= 0.5), abs=1e-12)
    for b in range(6):
        weights = drawn.counts[np.concatenate([at_human, at_machine]), b].astype(int)
        repeated_label, repeated_score = np.repeat(label, weights), np.repeat(score, weights)
        if len(set(repeated_label)) < 2:
            assert np.isnan(values["auc"][b])
            continue
        assert values["auc"][b] == pytest.approx(roc_auc_score(label, score, sample_weight=weights), abs=1e-12)
        assert values["accuracy"][b] == pytest.approx(accuracy_score(repeated_label, repeated_score >= 0.5), abs=1e-12)
        cut = threshold_at_fpr(repeated_score[repeated_label == 0], 0.05)
        assert values["tpr"][b] == pytest.approx((repeated_score[repeated_label == 1] > cut).mean(), abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_roc_points_are_sklearns_and_their_area_is_the_auc(seed):
    rng = np.random.default_rng(seed)
    human, machine = rng.integers(0, 20, 50) / 20, rng.integers(4, 25, 30) / 25
    false, true = roc_points(human, machine)
    expected = roc_curve(np.repeat([0, 1], [50, 30]), np.concatenate([human, machine]))
    assert np.trapezoid(true, false) == pytest.approx(auc_value(human, machine), abs=1e-12)
    assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1)
    assert set(zip(false.round(9), true.round(9), strict=True)) <= set(zip(expected[0].round(9), expected[1].round(9), strict=True))


def test_metrics_equal_a_plain_computation(run, results):
    metrics, _ = results
    captions = run["captions"]
    test = captions[captions.split == "test"].set_index("id")
    assert len(metrics) == 3 * 2 * 16
    scores = {name: read_records(path).assign(source=lambda frame: frame.id.map(test.source)) for name, path in run["scores"].items()}
    changed = {task: set(frame.id[frame.changed]) for task, frame in ((task, read_records(path)) for task, path in run["mutants"].items())}
    for row in metrics.itertuples():
        frame = scores[row.detector]
        clean = frame[frame.task == "clean"]
        human = clean.score[clean.source == "human"].to_numpy()
        rows = clean if row.task == "H_vs_M" else frame[(frame.task == row.task) & frame.id.isin(changed[row.task])]
        chosen = rows[rows.source == {"in": "machine", "ood": "machine_ood"}[row.domain]]
        machine = chosen.score.to_numpy()
        assert row.n_human == len(human) == 150
        assert row.n_machine == len(machine)
        assert row.n_images_machine == chosen.id.map(test.image_id).nunique()
        if not len(machine):
            continue
        label = np.repeat([0, 1], [len(human), len(machine)])
        assert row.auc == pytest.approx(roc_auc_score(label, np.concatenate([human, machine])), abs=1e-12)
        assert row.accuracy == pytest.approx(((human < 0.5).sum() + (machine >= 0.5).sum()) / len(label))
        assert row.threshold_fpr5 == threshold_at_fpr(human, 0.05)
        assert row.fpr_reached == (human > row.threshold_fpr5).mean() <= 0.05
        assert row.tpr_at_fpr5 == pytest.approx((machine > row.threshold_fpr5).mean())


def test_intervals_hold_their_estimates(results):
    metrics, differences = results
    for low, value, high in (("auc_low", "auc", "auc_high"), ("accuracy_low", "accuracy", "accuracy_high"), ("tpr_low", "tpr_at_fpr5", "tpr_high")):
        with_interval = metrics.dropna(subset=[low])
        assert len(with_interval) > 80
        assert (with_interval[low] <= with_interval[value]).all()
        assert (with_interval[value] <= with_interval[high]).all()
    known = differences.dropna(subset=["low"])
    assert ((known.low <= known.difference) & (known.difference <= known.high)).all()


def test_paired_differences_equal_differences_of_metrics_and_are_narrower(results):
    metrics, differences = results
    table = metrics.set_index(["detector", "domain", "task"])
    columns = {"auc": "auc", "accuracy": "accuracy", "tpr": "tpr_at_fpr5"}
    assert set(zip(differences.detector_a, differences.detector_b, strict=True)) == {("rr", "finetune"), ("finetune", "base")}
    for row in differences.itertuples():
        a, b = (table.loc[(name, row.domain, row.task)] for name in (row.detector_a, row.detector_b))
        expected = a[columns[row.metric]] - b[columns[row.metric]]
        assert row.difference == pytest.approx(expected, abs=1e-12, nan_ok=True)
        assert row.n_machine == a.n_machine


def test_a_detector_does_not_differ_from_its_copy(run):
    scores = {"finetune": run["scores"]["rr"], "rr": run["scores"]["rr"]}
    _, differences = compute_metrics(run["captions"], scores, run["mutants"], SETTINGS, MUTATE, 1)
    known = differences.dropna(subset=["low"])
    assert len(known)
    assert (known[["difference", "low", "high"]] == 0).all(axis=None)


def test_order_of_rows_and_detectors_does_not_matter(run, results, tmp_path):
    scores, mutants = {}, {}
    for name, path in reversed(run["scores"].items()):
        scores[name] = tmp_path / f"{name}.parquet"
        write_records(scores[name], read_records(path).iloc[::-1], {})
    for name, path in reversed(run["mutants"].items()):
        mutants[name] = tmp_path / f"m_{name}.parquet"
        write_records(mutants[name], read_records(path).sample(frac=1, random_state=3), {})
    metrics, _ = compute_metrics(run["captions"].sample(frac=1, random_state=4), scores, mutants, SETTINGS, MUTATE, 1)
    key = ["detector", "domain", "task"]
    pd.testing.assert_frame_equal(metrics.sort_values(key, ignore_index=True), results[0].sort_values(key, ignore_index=True), check_exact=True)


@pytest.mark.slow
def test_hash_seed_does_not_matter(run, results, tmp_path):
    run["captions"].to_parquet(tmp_path / "captions.parquet")
    code = (
        "import sys, pandas as pd; sys.path.insert(0, sys.argv[1]); from made_scores import MUTATE, SETTINGS;"
        "from muattack.evaluate.metrics import compute_metrics; folder = sys.argv[2];"
        "names = ['base', 'finetune', 'rr'];"
        "scores = {name: f'{folder}/scores/{name}.parquet' for name in names};"
        "mutants = {name: f'{folder}/mutants/{name}.parquet' for name in [*MUTATE['tasks'], *MUTATE['sets']]};"
        "frames = compute_metrics(pd.read_parquet(sys.argv[3]), scores, mutants, SETTINGS, MUTATE, 1);"
        "print(''.join(frame.to_csv() for frame in frames))"
    )
    folder = run["scores"]["rr"].parent.parent
    command = [sys.executable, "-c", code, os.path.dirname(__file__), str(folder), str(tmp_path / "captions.parquet")]
    made = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "42"}, capture_output=True, text=True, check=True).stdout.rstrip("\n")
    here = "".join(frame.to_csv() for frame in results).rstrip("\n")
    assert hashlib.sha256(made.encode()).hexdigest() == hashlib.sha256(here.encode()).hexdigest()


def rewrite(path, target, change):
    write_records(target, change(read_records(path)), {})
    return target


def test_an_empty_task_is_told_and_not_invented(run, tmp_path):
    mutants = dict(run["mutants"])
    mutants["mwd"] = rewrite(mutants["mwd"], tmp_path / "mwd.parquet", lambda frame: frame.assign(changed=False))
    metrics, differences = compute_metrics(run["captions"], run["scores"], mutants, SETTINGS, MUTATE, 1)
    rows = metrics[metrics.task == "mwd"]
    assert len(rows) == 6
    assert (rows.n_machine == 0).all()
    assert rows[["auc", "auc_low", "auc_high", "accuracy", "accuracy_low", "tpr_at_fpr5", "tpr_high"]].isna().all(axis=None)
    assert rows.note.str.contains("no machine text").all()
    assert differences[differences.task == "mwd"][["difference", "low", "high"]].isna().all(axis=None)


def test_keep_all_takes_the_unchanged_texts_too(run):
    mutate = {**MUTATE, "keep": "all"}
    texts = collect_texts(run["captions"], run["mutants"], mutate)
    assert (texts["mwd"].source == "machine").sum() == 150
    assert (collect_texts(run["captions"], run["mutants"], MUTATE)["mwd"].source == "machine").sum() < 30


def test_human_texts_are_mutated_on_request_and_the_threshold_stays_clean(run, tmp_path):
    captions, mutate = run["captions"], {**MUTATE, "classes": ["machine", "human"]}
    humans = captions[(captions.source == "human") & (captions.split == "test")]
    changed = (np.arange(len(humans)) % 2).astype(bool)
    more = humans[["id", "text"]].assign(mutated=humans.text, changed=changed)
    mutants = {"mwr": rewrite(run["mutants"]["mwr"], tmp_path / "mwr.parquet", lambda frame: pd.concat([frame, more]))}
    scored = pd.DataFrame({"task": "mwr", "id": humans.id, "operator": "", "score": 0.999, "truncated": False})
    scores = {"rr": rewrite(run["scores"]["rr"], tmp_path / "rr.parquet", lambda frame: pd.concat([frame, scored]))}
    metrics, _ = compute_metrics(captions, scores, mutants, SETTINGS, mutate, 1)
    clean, mutated = (metrics[(metrics.domain == "in") & (metrics.task == task)].iloc[0] for task in ("H_vs_M", "mwr"))
    assert clean.n_human == 150
    assert mutated.n_human == changed.sum() == 75
    assert mutated.threshold_fpr5 == clean.threshold_fpr5
    assert mutated.fpr_reached == 1
    assert clean.fpr_reached <= 0.05
    assert mutated.auc < 0.05


def test_individual_mutants_each_count(run, tmp_path):
    captions = run["captions"]
    ids = captions.id[(captions.source == "machine") & (captions.split == "test")].iloc[:4].to_list()
    frame = pd.DataFrame({"id": ids * 2, "operator": ["w:a"] * 4 + ["w:the"] * 4, "changed": True}).assign(text="x", mutated="y")
    scored = frame[["id", "operator"]].assign(task="mwr", score=np.arange(8) / 8, truncated=False)
    write_records(tmp_path / "mwr.parquet", frame, {})
    scores = rewrite(run["scores"]["rr"], tmp_path / "rr.parquet", lambda old: pd.concat([scored, old[old.task == "clean"]]))
    mutate = {**MUTATE, "apply": "individually"}
    texts = collect_texts(captions, {"mwr": tmp_path / "mwr.parquet"}, mutate)["mwr"]
    assert (texts.source == "machine").sum() == 8
    metrics, _ = compute_metrics(captions, {"rr": scores}, {"mwr": tmp_path / "mwr.parquet"}, SETTINGS, mutate, 1)
    clean = read_records(scores).query("task == 'clean'").set_index("id").score
    human = clean[captions.id[(captions.source == "human") & (captions.split == "test")]].to_numpy()
    row = metrics.query("task == 'mwr' and domain == 'in'").iloc[0]
    assert row.n_machine == 8
    assert row.auc == pytest.approx(auc_value(human, np.arange(8) / 8), abs=1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_score_that_is_no_number_names_detector_and_row(run, tmp_path, value):
    def spoil(frame):
        frame = frame.reset_index(drop=True)
        frame.loc[17, "score"] = value
        spoil.row = frame.loc[17]
        return frame

    path = rewrite(run["scores"]["rr"], tmp_path / "rr.parquet", spoil)
    with pytest.raises(InputError) as error:
        compute_metrics(run["captions"], {"rr": path}, run["mutants"], SETTINGS, MUTATE, 1)
    for part in ("Detector rr", spoil.row.id, spoil.row.task):
        assert part in str(error.value)


def test_missing_and_repeated_scores_are_refused(run, tmp_path):
    path = rewrite(run["scores"]["rr"], tmp_path / "short.parquet", lambda frame: frame[~((frame.task == "mwr") & (frame.id == "machine-20-0"))])
    with pytest.raises(InputError, match="machine-20-0 of task mwr no score"):
        compute_metrics(run["captions"], {"rr": path}, run["mutants"], {**SETTINGS}, {**MUTATE, "keep": "all"}, 1)
    path = rewrite(run["scores"]["rr"], tmp_path / "twice.parquet", lambda frame: pd.concat([frame, frame.iloc[:1]]))
    with pytest.raises(InputError, match="twice"):
        compute_metrics(run["captions"], {"rr": path}, run["mutants"], SETTINGS, MUTATE, 1)


def test_no_ood_texts_no_ood_rows(tmp_path):
    run = make_run(tmp_path, images=16, detectors=("rr",), ood=False)
    metrics, differences = compute_metrics(run["captions"], run["scores"], run["mutants"], SETTINGS, MUTATE, 1)
    assert set(metrics.domain) == {"in"}
    assert differences.empty


def test_no_human_text_leaves_everything_undefined(run):
    captions = run["captions"][run["captions"].source != "human"]
    metrics, _ = compute_metrics(captions, run["scores"], run["mutants"], SETTINGS, MUTATE, 1)
    assert metrics[["auc", "auc_low", "accuracy", "tpr_at_fpr5", "threshold_fpr5"]].isna().all(axis=None)
    assert metrics.note.str.contains("no human text").all()


def test_texts_of_one_image_get_no_interval(run, tmp_path):
    mutants = {
        "mwd": rewrite(run["mutants"]["mwd"], tmp_path / "one.parquet", lambda frame: frame.assign(changed=frame.id.str.startswith("machine-20-")))
    }
    metrics, _ = compute_metrics(run["captions"], {"rr": run["scores"]["rr"]}, mutants, SETTINGS, MUTATE, 1)
    row = metrics[(metrics.task == "mwd") & (metrics.domain == "in")].iloc[0]
    assert row.n_machine == 5
    assert row.n_images_machine == 1
    assert row.auc == row.auc
    assert np.isnan(row.auc_low)
    # About (1 - 1/30) ** 30 of the resamples lack that image.
    assert 0.5 < row.resamples / SETTINGS["bootstrap"] < 0.8


def test_length_buckets_part_all_clean_texts(run):
    assert length_buckets([9, 11, 12]) == {"up to 8": (0, 9), "9 to 10": (9, 11), "11": (11, 12), "12 and more": (12, np.inf)}
    with pytest.raises(InputError, match="lengths"):
        length_buckets([9, 9])
    lengths = compute_lengths(run["captions"], run["scores"], SETTINGS, 1)
    assert (lengths.groupby(["detector", "domain"])[["n_human", "n_machine"]].sum() == 150).all(axis=None)
    assert lengths[lengths.detector == "rr"].auc.mean() > 0.7


def test_pairs_are_those_of_the_detectors_there_are():
    assert default_pairs(["rr_m0.1", "rr", "rr_dropout", "finetune"]) == [("rr", "finetune"), ("rr_dropout", "rr"), ("rr_m0.1", "finetune")]
    assert default_pairs(["base", "dropout"]) == []
