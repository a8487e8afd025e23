"""The kind `human`: types by hand, importance by leaving words out, draws that favour rare types, and the operator's contract."""

import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from muattack.errors import InputError
from muattack.mutate import registry
from muattack.mutate.human import (
    IMPORTANT_WITHOUT_FORM,
    NO_FORM,
    NOT_IMPORTANT,
    OTHER,
    TYPES,
    HumanOperator,
    classify,
    demo_table,
    entropy,
    load_proxy,
    perturb,
    type_table,
    type_weights,
)
from muattack.mutate.operator import EMPTY_TEXT, Edit, apply_edits

TABLE = {"silly": ("sillyyy", "slly", "s1lly", "SiLLy"), "lousy": ("lousyyy", "lousyyyy", "lousyyyyy"), "plan": ("pl@n",)}
few = settings(max_examples=40, deadline=None)
strange = st.text(st.characters(categories=["L", "N", "M", "P", "S", "Z", "C", "Cs"]), max_size=40)
texts = st.lists(
    st.sampled_from(["silly", "Lousy", "PLAN", " ", ", ", "<b>silly</b>", "日本", "😀", "\u200b", "SiLLy", "x"]) | strange, max_size=12
).map("".join)


def score(batch):
    """Score a text by its words: lousy weighs most."""
    weights = {"silly": 0.3, "lousy": 0.5, "great": -0.6}
    return [0.5 + sum(weights.get(word, 0) for word in text.lower().replace(",", "").split()) / 4 for text in batch]


@pytest.mark.parametrize(
    ("word", "form", "kind"),
    [
        ("stolid", "stollllid", "RepeatChar"),
        ("stolid", "stold", "Abbr"),
        ("stolid", "5tolid", "SpecialChar"),
        ("stolid", "st*lid", "SpecialChar"),
        ("stolid", "sToLId", "MixedCase"),
        ("republicans", "repubLIEcans", "MixedCase+"),
        ("democrats", "democRATs", "MixedCase+"),
        ("spring", "sPrInG", "MixedCase+"),
        ("silly", "SILLYYY", "RepeatChar"),
        ("silly", "SiLLyyy", "RepeatChar"),
        ("silly", "SLLY", "Abbr"),
        ("silly", "sily", "Abbr"),
        ("silly", "s\u200billy", "SpecialChar"),
        ("silly", "sïlly", "SpecialChar"),
        ("don't", "dont", "Abbr"),
        ("naïve", "naïvee", "RepeatChar"),
        ("silly", "sillys", "RepeatChar"),
        ("silly", "sally", OTHER),
        ("silly", "SILLY", OTHER),
        ("silly", "Silly", OTHER),
        ("silly", "silly", OTHER),
    ],
)
def test_types_of_forms(word, form, kind):
    assert classify(word, form) == kind


def test_the_type_of_capitals_goes_by_the_words_that_count_as_english():
    assert classify("planter", "plANTer") == "MixedCase+"
    assert classify("planter", "plANTer", english=()) == "MixedCase"


def test_the_demonstration_table_has_all_types_and_no_other():
    assert {kind for word, forms in demo_table().items() for kind in [classify(word, form) for form in forms]} == set(TYPES)


def test_rare_types_weigh_more():
    table = type_table(TABLE)
    assert table["silly"] == {"RepeatChar": ("sillyyy",), "Abbr": ("slly",), "SpecialChar": ("s1lly",), "MixedCase": ("SiLLy",)}
    assert type_weights(table) == {"RepeatChar": 1 / 4, "Abbr": 1, "SpecialChar": 1 / 2, "MixedCase": 1}
    assert type_weights(table, ["silly", "silly", "plan"])["RepeatChar"] == 1
    assert type_table(TABLE, ["Abbr"]) == {"silly": {"Abbr": ("slly",)}}


def test_entropy_in_bits():
    assert entropy(["a", "b", "c", "d"]) == 2
    assert entropy(["a", "a", "b", "b"]) == 1
    assert entropy(["a"] * 3) == entropy([]) == 0


def test_only_the_most_important_word_changes():
    operator = HumanOperator("h", TABLE, score)
    mutation = operator.apply("A silly, Lousy plan of silly people.")
    assert len(mutation.edits) == 1
    assert mutation.edits[0][:2] == (9, 14)
    assert mutation.edits[0].replacement in TABLE["lousy"]
    (target,) = operator.targets(["A silly, Lousy plan"])
    assert (target.word, target.start, target.end) == ("lousy", 9, 14)
    assert target.importance == pytest.approx(0.125)


def test_what_is_below_the_threshold_stays():
    assert HumanOperator("h", TABLE, score, threshold=0.12).apply("lousy plan").changed
    assert HumanOperator("h", TABLE, score, threshold=0.125).apply("lousy plan").reason == NOT_IMPORTANT
    assert HumanOperator("h", TABLE, score).apply("a plan").reason == NOT_IMPORTANT


def test_an_important_word_without_a_form_stops_it_unless_told_otherwise():
    assert HumanOperator("h", TABLE, score).apply("great silly plan").reason == IMPORTANT_WITHOUT_FORM
    mutation = HumanOperator("h", TABLE, score, skip_unknown=True).apply("great silly plan")
    assert mutation.edits[0][:2] == (6, 11)


def test_the_proxy_sees_the_text_and_the_text_without_each_word():
    seen = []

    def proxy(batch):
        seen.extend(batch)
        return np.zeros(len(batch))

    HumanOperator("h", TABLE, proxy).apply("A silly, lousy plan")
    assert sorted(seen) == sorted({"A silly, lousy plan", "silly, lousy plan", "A, lousy plan", "A silly, plan", "A silly, lousy"})
    seen.clear()
    HumanOperator("h", TABLE, proxy, skip_unknown=True).apply("A silly dog")
    assert sorted(seen) == ["A dog", "A silly dog"]


def test_without_a_proxy_the_longest_word_with_a_form_changes():
    assert HumanOperator("h", TABLE).apply("an extraordinary plan, silly or lousy").edits[0][:2] == (23, 28)


@pytest.mark.parametrize(
    ("text", "reason"), [("", EMPTY_TEXT), ("no such word", NO_FORM), ("😀 <i>日本</i>", NO_FORM), ("x", NO_FORM), ("\ud800", NO_FORM)]
)
def test_nothing_to_do_is_identity_with_a_reason(text, reason):
    for operator in (HumanOperator("h", TABLE), HumanOperator("h", TABLE, score)):
        assert operator.apply(text) == (text, (), reason)


def test_a_form_that_the_text_has_already_is_not_drawn():
    operator = HumanOperator("h", {"silly": ("SiLLy", "slly")})
    assert {operator.apply("SiLLy", random.Random(seed)).text for seed in range(20)} == {"slly"}
    assert HumanOperator("h", {"silly": ("SiLLy",)}).apply("SiLLy").reason == NO_FORM


def test_a_data_set_keeps_the_seed_with_the_highest_entropy_and_its_order_does_not_matter():
    words = sorted(demo_table())
    frame = pd.DataFrame(
        {"id": [f"t{number}" for number in range(200)], "text": [f"a {words[number % 57]} thing, {number % 90}" for number in range(200)]}
    )
    operator = HumanOperator("h", demo_table())
    out, seeds = perturb(frame, operator, seed=3)
    assert list(out.columns) == ["id", "original", "text", "edits", "reason", "word", "form", "type", "importance"]
    assert len(seeds) == 10
    assert seeds["kept"].sum() == 1
    assert seeds["entropy"][seeds["kept"]].iloc[0] == seeds["entropy"].max() == pytest.approx(entropy(out["type"]))
    assert seeds["entropy"].nunique() > 1
    assert {kind: int(count) for kind, count in out["type"].value_counts().items()} == {
        kind: int(count) for kind, count in seeds[seeds["kept"]].iloc[0][list(TYPES)].items() if count
    }
    for original, text, edits in zip(out["original"], out["text"], out["edits"], strict=True):
        assert apply_edits(original, [Edit(**edit) for edit in edits]) == text
    shuffled, _ = perturb(frame.sample(frac=1, random_state=1), operator, seed=3)
    pd.testing.assert_frame_equal(shuffled.sort_values("id", ignore_index=True), out.sort_values("id", ignore_index=True))
    assert not perturb(frame, operator, seed=4)[0]["text"].equals(out["text"])


def test_favouring_rare_types_evens_them_out():
    """Among words with three forms of one type and one of another, the rare type is drawn three times in four."""
    table = {f"plan{letter}": (f"plan{letter * 3}", f"plan{letter * 4}", f"plan{letter * 5}", f"pln{letter}") for letter in "bcdfghjklmpqrstvwxz"}
    frame = pd.DataFrame({"id": range(380), "text": [f"{word} {number}" for number in range(20) for word in table]})
    out, seeds = perturb(frame, HumanOperator("h", table))
    assert 0.7 < (out["type"] == "Abbr").mean() < 0.8
    assert seeds["n"].eq(380).all()


def test_a_text_that_is_none_is_an_error():
    with pytest.raises(InputError, match=r"Row 1 .*id b.* NoneType"):
        perturb(pd.DataFrame({"id": ["a", "b"], "text": ["x", None]}, dtype=object), HumanOperator("h", TABLE))


@pytest.mark.parametrize("returned", [[0.1], [0.1, float("nan")], np.zeros((2, 2, 2))])
def test_wrong_scores_of_a_proxy_are_an_error(returned):
    with pytest.raises(InputError, match="proxy classifier returned"):
        HumanOperator("h", TABLE, lambda batch: returned).apply("silly")


def test_the_last_column_of_a_proxy_counts():
    operator = HumanOperator("h", TABLE, lambda batch: np.stack([np.zeros(len(batch)), score(batch)], axis=1))
    assert operator.targets(["silly lousy"])[0].word == "lousy"


@pytest.fixture
def kind(monkeypatch):
    monkeypatch.setitem(registry.KINDS, "human", "muattack.mutate.human:human_set")


def test_the_kind_from_a_configuration(kind, tmp_path):
    (tmp_path / "forms.json").write_text('{"silly": ["slly", "sally"]}', encoding="utf-8")
    (tmp_path / "corpus.txt").write_text("a silly sillyyy plan\nSiLLy sally slly\n", encoding="utf-8")
    demo = registry.make_set("natural", {"kind": "human"})
    assert (demo.kind, demo.nominal, demo.effective, len(demo.words)) == ("human", 279, 279, 57)
    table = registry.make_set("mine", {"kind": "human", "perturbations": {"table": "forms.json"}}, tmp_path)
    assert (table.words, table.nominal, table.effective) == (("silly",), 2, 1)
    assert table.operator.apply("a silly day").text == "a slly day"
    corpus = registry.make_set("found", {"kind": "human", "perturbations": {"corpus": ["corpus.txt"], "level": 0}}, tmp_path)
    assert corpus.settings["perturbations"] == {"corpus": ["corpus.txt"], "level": 0, "distance": 5, "strict": True, "minimum": 1}
    assert corpus.operator.table["silly"] == {"RepeatChar": ("sillyyy",), "Abbr": ("slly",), "MixedCase": ("SiLLy",)}
    proxied = registry.make_set("p", {"kind": "human", "proxy": "test_human:score", "threshold": 0.05})
    assert proxied.operator.apply("a lousy silly plan").edits[0][:2] == (2, 7)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"perturbation": "demo"}, "Did you mean perturbations?"),
        ({"perturbations": "dem"}, "expected where the forms of words come from; found 'dem'"),
        ({"perturbations": {}}, "expected where the forms"),
        ({"perturbations": {"table": "none.json"}}, "none.json does not exist"),
        ({"perturbations": {"table": 3}}, "expected the path of a file"),
        ({"perturbations": {"table": "a", "level": 1}}, "'level' is no known key"),
        ({"perturbations": {"corpus": "a.txt"}}, "expected a list of text files"),
        ({"perturbations": {"corpus": ["a.txt"], "level": -1}}, "level: expected a whole number from 0 on"),
        ({"perturbations": {"corpus": ["a.txt"], "distance": True}}, "distance: expected a whole number"),
        ({"perturbations": {"corpus": ["a.txt"], "strict": 1}}, "strict: expected true or false"),
        ({"perturbations": {"corpus": ["plain.txt"]}}, "no English word is written in more than its ordinary ways"),
        ({"types": []}, "expected a list of types"),
        ({"types": ["Abr"]}, "Did you mean Abbr?"),
        ({"threshold": 1}, "expected a number from 0 up to"),
        ({"threshold": float("nan")}, "expected a number from 0"),
        ({"skip_unknown": "no"}, "expected true or false"),
        ({"seed": 1.5}, "expected a whole number"),
        ({"proxy": 3}, "expected module:function"),
        ({"proxy": "no_such_module:f"}, "is no folder, and no Python function either"),
        ({"proxy": "math:pi"}, "cannot be called"),
    ],
)
def test_wrong_settings_are_errors(kind, tmp_path, settings, said):
    (tmp_path / "plain.txt").write_text("plain words\n", encoding="utf-8")
    with pytest.raises(InputError) as raised:
        registry.make_set("h", {"kind": "human", **settings}, tmp_path)
    assert said in str(raised.value)


def test_a_proxy_is_loaded_by_name():
    assert load_proxy("test_human:score") is not None
    assert load_proxy("math:floor")(1.5) == 1


@pytest.mark.data
def test_the_published_pairs_types(data):
    """Shares of the types among the 1,339 pairs lie near those that Table 3's overall accuracies imply (.39 .10 .12 and .38 for both of capitals)."""
    from muattack.data.noisyhate import read_pairs

    counts = read_pairs(data / "perturbations" / "noisyhate" / "noisyhate.csv")["type"].value_counts()
    assert counts.to_dict() == {"RepeatChar": 475, "MixedCase": 418, "Abbr": 210, "SpecialChar": 174, "MixedCase+": 57, OTHER: 5}


def test_files_of_a_set_are_named_and_a_folder_as_proxy_is_opened_late(tmp_path, monkeypatch):
    files = {"kind": "human", "perturbations": {"corpus": ["a.txt", "b.txt"]}, "proxy": "detector"}
    assert registry.files_of(files) == {"perturbations.corpus.1": "a.txt", "perturbations.corpus.2": "b.txt", "proxy": "detector"}
    assert registry.files_of({"kind": "human", "perturbations": {"table": "t.json"}, "proxy": "mine:score"}) == {"perturbations.table": "t.json"}
    assert registry.files_of({"kind": "human"}) == {}

    opened = []

    def load(spec):
        opened.append(spec)
        return lambda texts: [float("silly" in text) for text in texts]

    (tmp_path / "detector").mkdir()
    monkeypatch.setattr("muattack.mutate.human.load_proxy", load)
    made = registry.make_set("h", {"kind": "human", "proxy": "detector"}, tmp_path)
    assert opened == []
    assert made.operator.apply("a silly dog").edits[0].start == 2
    made.operator.apply("a lousy dog")
    assert opened == [str(tmp_path / "detector")]
