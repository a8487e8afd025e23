"""Many texts at once: equal to one by one, whole files in flat memory, counts, determinism."""

import random
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_mutate_operator import ZOO
from test_mutate_registry import shout_set

from muattack.config import DEFAULTS, read_yaml
from muattack.errors import InputError
from muattack.mutate import apply, registry
from muattack.mutate.apply import mutate_captions, mutate_file, mutate_individually, mutate_operators, mutate_texts
from muattack.mutate.operator import Edit, apply_edits
from muattack.mutate.registry import join, load_sets, make_set, resolve
from muattack.records import read_meta, read_records
from muattack.sources import PACKAGE

MUTATE = read_yaml(DEFAULTS)["mutate"]
SETS = load_sets(MUTATE)
OWN = {
    "sets": {
        "accents": {"kind": "word", "words": ["café", "in", "kind", "don't", "straße", "日本"]},
        "some": {"kind": "word", "words": ["the", "red"], "replacement": "söme"},
        "longer": {"kind": "character", "words": ["the", "a", "theatre", "red"], "letters": {"t": "ττ", "e": "😀"}, "occurrences": "first"},
        "exact": {"kind": "word", "words": ["The", "A"], "case_sensitive": True},
    },
    "tasks": {"all": ["longer", "accents", "some", "exact"]},
}
NAMES = [*MUTATE["sets"], *MUTATE["tasks"]]
texts = st.lists(st.sampled_from([*ZOO, "white", "together", "café", "don’t", "kind", "in", " "]) | st.text(max_size=2), max_size=10).map("".join)
many = st.lists(texts, max_size=8)
few = settings(max_examples=40, deadline=None)


def rows(table: pa.Table) -> list[tuple]:
    return [
        (row["mutated"], row["changed"], tuple(Edit(edit["start"], edit["end"], edit["replacement"]) for edit in row["edits"]))
        for row in table.to_pylist()
    ]


def one_by_one(batch, sets) -> list[tuple]:
    operator = join(sets)
    return [(mutation.text, mutation.changed, mutation.edits) for mutation in map(operator.apply, batch)]


@few
@given(batch=many)
@example(batch=["", "", "the", "", "a", "'", "the'", "'a", "a ", " the", "x a", "the b", ""])
@example(batch=["red", "-haired", "a", "’", "s", "\u0301", "the"])
def test_a_batch_gives_what_texts_give_one_by_one(batch):
    for mutate, names in ((MUTATE, ["mwr", "mwj", "mcr", "char_e_adjectives"]), (OWN, [*OWN["sets"], "all"])):
        for name in names:
            sets = resolve(mutate, name)
            assert rows(mutate_texts(batch, sets)) == one_by_one(batch, sets)


@pytest.mark.parametrize("name", NAMES)
def test_all_sets_and_tasks_on_many_texts(name):
    rng = random.Random(name)
    words = [*ZOO, *rng.sample(registry.own_list("adjectives"), 60), *rng.sample(registry.own_list("adverbs"), 60), *[" "] * 60]
    batch = ["".join(rng.choices(words, k=rng.randint(0, 20))) for _ in range(300)]
    batch += [text.encode("ascii", "ignore").decode().title() for text in batch]
    assert rows(mutate_texts(batch, resolve(MUTATE, name))) == one_by_one(batch, resolve(MUTATE, name))


def test_batches_of_any_size_give_the_same(monkeypatch):
    batch = ["The red cat", "", "an ox", "日本 the", "x" * 200, "the end"] * 7
    whole = mutate_texts(batch, [SETS["word_articles"]])
    single = mutate_individually(batch, list(SETS.values()))
    for size, weight in ((1, 10**6), (5, 10**6), (100, 30), (100, 1)):
        monkeypatch.setattr(apply, "BATCH", size)
        monkeypatch.setattr(apply, "BATCH_BYTES", weight)
        assert mutate_texts(batch, [SETS["word_articles"]]).equals(whole)
        assert mutate_individually(batch, list(SETS.values())).equals(single)


def test_forgetting_forms_changes_nothing(monkeypatch):
    batch = ["The the THE é ê tHe", "the ö The red"] * 3
    expected = one_by_one(batch, [SETS["word_articles"]])
    monkeypatch.setattr(apply, "BATCH", 1)
    monkeypatch.setattr(apply, "FORMS_SIZE", 0)
    assert rows(mutate_texts(batch, [SETS["word_articles"]])) == expected


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_any_arrow_text_does_sliced_or_in_chunks(kind):
    batch = ["The cat", "é a", "", "red"]
    array = pa.array(["ignored the", *batch, "the end"], kind).slice(1, 4)
    expected = one_by_one(batch, [SETS["word_articles"]])
    assert rows(mutate_texts(array, [SETS["word_articles"]])) == expected
    assert rows(mutate_texts(pa.chunked_array([array, array.slice(4), array]), [SETS["word_articles"]])) == expected * 2
    assert rows(mutate_texts(pd.Series(batch), [SETS["word_articles"]])) == expected


def test_no_texts_at_all():
    assert mutate_texts([], [SETS["word_articles"]]).num_rows == 0
    assert mutate_individually([], [SETS["word_articles"]]).num_rows == 0


@pytest.mark.parametrize(("batch", "row"), [(["a", "\ud800"], "text 1"), (["a", None], "text 1"), (["a", "b", 3], "text 2")])
def test_texts_that_no_table_can_hold_are_named(batch, row):
    with pytest.raises(InputError, match=row):
        mutate_texts(batch, [SETS["word_articles"]])


@few
@given(batch=many)
def test_individually_gives_each_single_operator(batch):
    sets = [SETS[name] for name in ("word_articles", "char_a_adjectives", "word_adverbs")]
    expected = [
        (row, f"{one.name}:{word}", one.name, word, text, mutation.text, mutation.edits)
        for row, text in enumerate(batch)
        for one in sets
        for word, mutation in one.operator.individually(text)
    ]
    found = [
        (row["row"], row["operator"], row["set"], row["word"], row["text"], row["mutated"], tuple(Edit(**edit) for edit in row["edits"]))
        for row in mutate_individually(batch, sets).to_pylist()
    ]
    assert found == expected


def test_operators_with_chance_draw_by_id_not_by_place(monkeypatch):
    monkeypatch.setattr(registry, "KINDS", {**registry.KINDS, "shout": shout_set})
    sets = [make_set("loud", {"kind": "shout"})]
    ids = [f"id{number}" for number in range(20)]
    forward = mutate_texts(["hey"] * 20, sets, 1, ids)["mutated"].to_pylist()
    assert mutate_texts(["hey"] * 20, sets, 1, ids[::-1])["mutated"].to_pylist() == forward[::-1]
    assert mutate_texts(["hey"] * 20, sets, 2, ids)["mutated"].to_pylist() != forward
    monkeypatch.setattr(apply, "BATCH", 3)
    assert mutate_texts(["hey"] * 20, sets, 1, ids)["mutated"].to_pylist() == forward
    with pytest.raises(InputError, match="jointly"):
        mutate_individually(["hey"], sets)


def captions() -> pd.DataFrame:
    lines = [
        ("human", "test", "A white dog runs."), ("human", "train", "The cat"), ("machine", "test", "A large dog on the red mat"), ("machine", "test", "dogs"),
        ("machine", "val", "the hen"), ("machine_ood", "test", "the the end"), ("machine_ood", "test", ""),
    ]  # fmt: skip
    frame = pd.DataFrame(lines, columns=["source", "split", "text"])
    frame["id"] = [f"{source}-1-{number}" for number, source in enumerate(frame["source"])]
    frame["image_id"] = "1"
    frame["label"] = (frame["source"] != "human").astype(np.int8)
    return frame


def test_captions_of_the_test_split_and_the_classes_come_back_row_by_row():
    table, meta = mutate_captions(captions(), "mwr", MUTATE)
    assert table.column_names == ["id", "text", "mutated", "changed", "edits"]
    assert table["id"].to_pylist() == ["machine-1-2", "machine-1-3", "machine_ood-1-5", "machine_ood-1-6"]
    assert table["mutated"].to_pylist() == ["large dog on red mat", "dogs", "end", ""]
    assert table["changed"].to_pylist() == [True, False, True, False]
    assert table["edits"].to_pylist()[2] == [{"start": 0, "end": 4, "replacement": ""}, {"start": 4, "end": 8, "replacement": ""}]
    assert (meta["rows_in"], meta["captions"], meta["rows_out"], meta["changed"], meta["nominal"], meta["effective"]) == (7, 4, 4, 2, 3, 3)
    assert meta["sources"] == {"machine": {"captions": 2, "changed": 1}, "machine_ood": {"captions": 2, "changed": 1}}
    assert table.schema.field("edits").type == pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32()), ("replacement", pa.string())]))


def test_classes_and_the_individual_mode():
    table, meta = mutate_captions(captions(), "mcj", {**MUTATE, "classes": ["human", "machine"], "apply": "individually"})
    assert [(row["id"], row["operator"], row["mutated"]) for row in table.to_pylist()] == [
        ("human-1-0", "char_e_adjectives:white", "A whitϵ dog runs."),
        ("machine-1-2", "char_a_adjectives:large", "A lαrge dog on the red mat"),
        ("machine-1-2", "char_e_adjectives:large", "A largϵ dog on the red mat"),
        ("machine-1-2", "char_e_adjectives:red", "A large dog on the rϵd mat"),
    ]
    assert (meta["captions"], meta["rows_out"], meta["changed"]) == (5, 4, 2)
    with pytest.raises(InputError, match=r"mutate\.classes"):
        mutate_captions(captions(), "mcj", {**MUTATE, "classes": ["machines"]})
    with pytest.raises(InputError, match=r"mutate\.apply"):
        mutate_captions(captions(), "mcj", {**MUTATE, "apply": "joint"})


def test_single_operators_of_all_sets_on_the_machines_captions():
    table, meta = mutate_operators(captions(), MUTATE)
    assert table.column_names == ["id", "operator", "set", "word", "text", "mutated", "changed", "edits"]
    assert set(table["id"].to_pylist()) == {"machine-1-2"}
    found = {row["operator"]: row["mutated"] for row in table.to_pylist()}
    assert found["word_articles:the"] == "A large dog on red mat"
    assert found["char_a_articles:a"] == "Α large dog on the red mat"
    assert len(found) == table.num_rows == meta["rows_out"] == meta["operators_applied"] == 9
    assert (meta["rows_in"], meta["captions"], meta["nominal"], meta["effective"]) == (7, 2, 2355, sum(one.effective for one in SETS.values()))


def test_a_set_that_matches_nothing_gives_an_unchanged_table():
    mutate = {"sets": {"z": {"kind": "character", "words": ["zz"], "letters": {"q": "x"}}}}
    table, meta = mutate_captions(captions(), "z", mutate)
    assert table["mutated"].to_pylist() == table["text"].to_pylist()
    assert (meta["changed"], meta["nominal"], meta["effective"]) == (0, 1, 0)
    table, meta = mutate_operators(captions(), mutate)
    assert (table.num_rows, meta["operators_applied"]) == (0, 0)


@pytest.mark.parametrize("mode", ["jointly", "individually"])
def test_a_file_gives_the_same_table_with_its_meta(tmp_path, monkeypatch, mode):
    mutate = {**MUTATE, "apply": mode}
    frame = pd.concat([captions()] * 9, ignore_index=True)
    frame.to_parquet(tmp_path / "captions.parquet")
    expected, meta = mutate_captions(frame, "mcr", mutate)
    monkeypatch.setattr(apply, "BATCH", 4)
    assert mutate_file(tmp_path / "captions.parquet", tmp_path / "out" / "mcr.parquet", "mcr", mutate) == meta
    assert pq.read_table(tmp_path / "out" / "mcr.parquet").replace_schema_metadata().equals(expected.replace_schema_metadata())
    assert read_meta(tmp_path / "out" / "mcr.parquet") == meta
    assert len(read_records(tmp_path / "out" / "mcr.parquet")) == meta["rows_out"]
    assert pq.ParquetFile(tmp_path / "out" / "mcr.parquet").num_row_groups > 1


def test_a_bad_file_leaves_nothing(tmp_path):
    target = tmp_path / "out" / "mwr.parquet"
    with pytest.raises(InputError, match="does not exist"):
        mutate_file(tmp_path / "none.parquet", target, "mwr", MUTATE)
    (tmp_path / "text.parquet").write_text("no")
    with pytest.raises(InputError, match="not a Parquet file"):
        mutate_file(tmp_path / "text.parquet", target, "mwr", MUTATE)
    captions().drop(columns="label").to_parquet(tmp_path / "short.parquet")
    with pytest.raises(InputError, match="label"):
        mutate_file(tmp_path / "short.parquet", target, "mwr", MUTATE)
    frame = captions()
    frame.loc[2, "text"] = None
    frame.to_parquet(tmp_path / "holes.parquet")
    with pytest.raises(InputError, match="missing"):
        mutate_file(tmp_path / "holes.parquet", target, "mwr", MUTATE)
    assert not target.parent.exists() or not list(target.parent.iterdir())


@pytest.mark.slow
def test_the_same_bytes_in_processes_with_other_hash_seeds(tmp_path):
    captions().to_parquet(tmp_path / "captions.parquet")
    code = (
        "import sys, json; from muattack.config import *; from muattack.mutate.apply import *; m = read_yaml(DEFAULTS)['mutate'];"
        "[mutate_file(sys.argv[1], f'{sys.argv[2]}-{name}.parquet', name, m) for name in [*m['sets'], *m['tasks']]];"
        "import pandas as pd; t, meta = mutate_operators(pd.read_parquet(sys.argv[1]), m); print(t.to_pylist(), meta)"
    )
    printed = []
    for seed in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", code, tmp_path / "captions.parquet", tmp_path / seed],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(PACKAGE.parent)}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        printed.append(run.stdout)
    assert printed[0] == printed[1]
    for name in NAMES:
        assert (tmp_path / f"0-{name}.parquet").read_bytes() == (tmp_path / f"1-{name}.parquet").read_bytes()


def test_mutating_imports_no_torch():
    code = "import sys, muattack.mutate.apply; print([name for name in ('torch', 'transformers', 'datasets') if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(PACKAGE.parent)}, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.data
def test_real_captions_as_they_are_and_as_one_by_one(data):
    import json

    batch = [text for texts in json.loads((data / "captions/same_images/human.json").read_text()).values() for text in texts][:2000]
    for name in ("mwr", "mwj", "mcd"):
        table = mutate_texts(batch, resolve(MUTATE, name))
        assert rows(table) == one_by_one(batch, resolve(MUTATE, name))
        assert all(apply_edits(text, edits) == mutated for text, (mutated, _, edits) in zip(batch, rows(table), strict=True))
