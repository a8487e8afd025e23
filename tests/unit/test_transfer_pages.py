"""The table of transfer for people, and its figure: every cell from the frame, nothing made up where there is nothing."""

import re

import pandas as pd
import pytest
from test_transfer import HEADER, LABELS, record

import muattack.detect.detector  # noqa: F401 (looks for a socket when it is loaded, which no test may open)
from muattack.attack.records import write_attack
from muattack.config import check_config, overlay, read_config
from muattack.errors import InputError
from muattack.evaluate.transfer import CANNOT, Unsure, answer_classes, read_answers
from muattack.evaluate.transfer_pages import write_transfer_table
from muattack.figures.transfer import draw_transfer
from muattack.records import write_records

ROWS = {"files": ["a.csv"], "format": "csv", "text": ["text"], "label": "label"}
ABOVE = {
    "captions": {"source": "none"},
    "mutate": {"sets": {"splitting": {"kind": "chinese", "method": "splitting"}}},
    "classification": {"datasets": {"made": {"labels": dict(enumerate(LABELS)), "train": ROWS, "test": ROWS}}},
    "attacks": {"recipes": {"textfooler": None, "textbugger": None, "bert_attack": None}},
    "chinese": {"datasets": ["made"], "targets": {"chat": {"function": "a:b"}, "silent": {"function": "a:c"}}},
}


@pytest.fixture
def made(tmp_path):
    """An attack on five texts, what two targets answered, and judgements of four: their files."""
    records = [record(str(k), status) for k, status in enumerate(["succeeded", "succeeded", "failed", "skipped", "timed_out"])]
    for one in records:
        one |= {"queries": 5, "words": 3, "words_changed": int(one["status"] == "succeeded"), "seconds": 0.1}
        one["predicted_after"] = 0 if one["status"] == "succeeded" else one["predicted_before"]
    header = HEADER | {"texts": 5, "attack": HEADER["attack"] | {"words": "jieba", "operator": "splitting", "characters": "all"}}
    write_attack(tmp_path / "attack.jsonl", header, records)
    answers = {}
    for target, before, after in (("chat", [1, 1, 0], [0, 1, CANNOT]), ("silent", [CANNOT] * 3, [CANNOT] * 3)):
        frame = pd.DataFrame({"id": ["0", "1", "2"], "label": 1, "status": ["succeeded", "succeeded", "failed"], "before": before, "after": after})
        answers["made", "splitting", target] = tmp_path / f"{target}.parquet"
        write_records(tmp_path / f"{target}.parquet", frame, {})
    scores = pd.DataFrame({"id": list("abcd"), "label": [0, 0, 1, 1], "predicted": [0, 0, 1, 0], "truncated": [False, True, False, False]})
    write_records(tmp_path / "scores.parquet", scores, {})
    return [tmp_path / "attack.jsonl"], answers, {("made", "plain"): tmp_path / "scores.parquet"}


def test_every_cell_of_the_page(made, tmp_path):
    config = check_config(overlay(read_config(), ABOVE))
    write_transfer_table(config, *made, tmp_path / "t.csv", tmp_path / "t.md")
    page = (tmp_path / "t.md").read_text(encoding="utf-8")
    cells = {tuple(row.strip("| ").split(" | ")[:2]): row.strip("| ").split(" | ")[2:] for row in page.splitlines() if row.startswith("| splitting")}
    shares = {key: [re.sub(r" \[.*\]", "", cell) for cell in row] for key, row in cells.items()}
    # Four of five were right before (the one that timed out among them), one after; two attacks of four succeeded.
    assert shares["splitting", "plain (source)"] == ["80.0 (n 5)", "20.0 (n 5)", "50.0 (n 4)", "–", "–", "–", "–"]
    # Two of three right before; one turned, one withstood, and of the third, wrong before, nothing is said after.
    assert shares["splitting", "chat"] == ["66.7 (n 3)", "33.3 (n 3)", "50.0 (n 2)", "50.0 (n 2)", "50.0 (n 2)", "0.0 (n 3)", "33.3 (n 3)"]
    assert shares["splitting", "silent"] == ["0.0 (n 3)", "0.0 (n 3)", "– (n 0)", "– (n 0)", "– (n 0)", "100.0 (n 3)", "100.0 (n 3)"]
    assert cells["splitting", "splitting, characters all"] == ["jieba", "1", "2", "1", "1", "0", "5.0", "3.0", "1.0", "negative (2 of 2)"]
    assert "| made | plain | source | 75.0 [" in page
    assert page.splitlines()[-2].count("ORS") + page.splitlines()[-1].count("ORS") > 1


def test_an_attack_that_lacks_texts_is_refused(made, tmp_path):
    lines = made[0][0].read_text(encoding="utf-8").splitlines()[:-1]
    made[0][0].write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="5 texts were attacked, but holds 4"):
        write_transfer_table(check_config(overlay(read_config(), ABOVE)), *made, tmp_path / "t.csv", tmp_path / "t.md")
    assert not (tmp_path / "t.csv").exists()


def test_the_figure_shows_what_the_table_has(made, tmp_path):
    config = check_config(overlay(read_config(), ABOVE))
    write_transfer_table(config, *made, tmp_path / "t.csv", tmp_path / "t.md")
    figure = draw_transfer(pd.read_csv(tmp_path / "t.csv"))
    axes = figure.axes[0]
    # The source, and the target that was right on something; each mark has its own line.
    assert [bars.lines[0].get_xdata()[0] for bars in axes.containers] == [50.0, 50.0, 50.0]
    assert len({bars.lines[0].get_ydata()[0] for bars in axes.containers}) == 3
    assert [text.get_text() for text in axes.texts] == ["n = 4", "n = 2", "n = 2", "n = 0", "n = 0"]
    looks = [(bars.lines[0].get_marker(), bars.lines[0].get_markerfacecolor()) for bars in axes.containers]
    assert len(set(looks)) == 3
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["source", "chat: all attacked texts"]
    empty = draw_transfer(pd.read_csv(tmp_path / "t.csv").iloc[:0])
    assert "attacked nothing" in empty.texts[-1].get_text()


def test_answers_beside_the_names_of_classes():
    classes = answer_classes(LABELS, {"好评": "positive", "财经": "finance"})
    assert classes == {"negative": 0, "positive": 1, "好评": 1}
    assert read_answers(lambda texts: ["好评", "财经"], ["a", "b"], classes).tolist() == [1, CANNOT]


def test_a_classifier_that_is_not_sure_gives_no_label():
    class Classifier:
        def predict(self, texts):
            return [[0.95, 0.05] if "差" in text else [0.3, 0.7] for text in texts]

    assert read_answers(Unsure(Classifier(), 0.9), ["差", "好"], LABELS).tolist() == [0, CANNOT]
    assert read_answers(Unsure(Classifier(), 0.7), ["差", "好"], LABELS).tolist() == [0, 1]
