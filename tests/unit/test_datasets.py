"""Data sets: as many texts as rows, byte for byte, and a clear error for whatever else."""

import csv
import json
import subprocess
import sys

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from muattack.config import files_inside
from muattack.data.datasets import read_dataset
from muattack.errors import InputError

LABELS = {0: "bad", 1: "good"}
# Texts that readers are known to lose or change.
HARD = [
    "null",
    "NA",
    "NaN",
    "two\nlines",
    "two\r\nlines",
    'she said "no"',
    '"quoted"',
    "a\\b\\n",
    "comma, and\ttab",
    " blanks around ",
    "1,234.5",
    "日本語 🙂",
    "line\u2028separator\x85next",
    "=1+1",
    "#no comment",
]


def entry(**changes):
    rows = {"format": "jsonl", "text": ["text"], "label": "label"}
    return {"train": dict(rows), "test": dict(rows), "labels": LABELS} | changes


def of(format, **more):
    rows = {"format": format, "text": ["text"], "label": "label"} | more
    return {"train": rows, "test": rows, "labels": LABELS}


def jsonl(path, rows):
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows), encoding="utf-8")
    return str(path)


def read(path, settings=None, seed=1, test=None):
    files = path if isinstance(path, list) else [str(path)]
    return read_dataset("toy", settings or entry(), {"train": files, "test": test or files}, seed)


@pytest.fixture
def rows():
    return [(f"text {k}", k % 2) for k in range(40)]


def write_csv(path, rows, **options):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, **options)
        writer.writerow(["text", "label"])
        writer.writerows(rows)


def write_format(format, folder, texts):
    """Write texts with labels 0, 1, 0, ... in one of the formats."""
    labels = [k % 2 for k in range(len(texts))]
    path = folder / format
    if format == "csv":
        write_csv(path, zip(texts, labels, strict=True))
    elif format == "tsv":
        write_csv(path, zip(texts, labels, strict=True), dialect="excel-tab")
    elif format == "jsonl":
        jsonl(path, zip(texts, labels, strict=True))
    elif format == "parquet":
        pq.write_table(pa.table({"text": texts, "label": labels}), path)
    else:
        import datasets

        features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])})
        datasets.Dataset.from_dict({"text": texts, "label": labels}, features=features).save_to_disk(str(path))
    return str(path)


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "huggingface"])
def test_every_format_gives_every_row_byte_for_byte(tmp_path, format):
    path = write_format(format, tmp_path, HARD)
    table, meta = read(path, of(format, **({"quoted": True} if format == "tsv" else {})))
    test = table[table.split == "test"]
    assert test.text.tolist() == HARD
    assert test.label.tolist() == [k % 2 for k in range(len(HARD))]
    assert meta["rows_read"] == {"train": len(HARD), "test": len(HARD)}
    assert len(table) == 2 * len(HARD)


def test_the_table_is_as_agreed(tmp_path, rows):
    table, meta = read(jsonl(tmp_path / "a", rows))
    assert list(table.columns) == ["id", "image_id", "source", "text", "label", "split"]
    assert str(table.label.dtype) == "int8"
    assert list(dict.fromkeys(table.split)) == ["train", "val", "test"]
    assert table.id.is_unique
    for row in table.itertuples():
        place = int(row.id.rpartition("-")[2])
        assert row.id == f"toy-{'test' if row.split == 'test' else 'train'}-{place}"
        assert (row.text, row.label) == rows[place]
    for split in ("train", "val", "test"):
        places = [int(one.rpartition("-")[2]) for one in table.id[table.split == split]]
        assert places == sorted(places)
    assert meta["labels"] == ["bad", "good"]
    assert meta["rows"] == {"train": 36, "val": 4, "test": 40}
    # Each class has its tenth.
    assert meta["classes"]["val"] == {"bad": 2, "good": 2}


def test_rows_are_drawn_by_seed_and_id(tmp_path, rows):
    path = jsonl(tmp_path / "a", rows)
    drawn = {n: set(read(path, entry(train_rows=n, test_rows=n))[0].id) for n in (10, 20)}
    assert drawn[10] < drawn[20]
    assert len(drawn[10]) == 20
    assert set(read(path, entry(train_rows=10, test_rows=10), seed=2)[0].id) != drawn[10]
    # What validates depends on seed and id alone: not on the texts, nor on the interpreter's hash seed.
    one, other = read(path)[0], read(jsonl(tmp_path / "b", [(text.upper(), label) for text, label in rows]))[0]
    assert one[["id", "split"]].equals(other[["id", "split"]])
    code = (
        "import json, sys; from muattack.data.datasets import read_dataset\n"
        f"print(','.join(read_dataset('toy', json.loads(sys.argv[1]), {{'train': [{path!r}], 'test': [{path!r}]}}, 1)[0].id))"
    )
    settings = json.dumps(entry(train_rows=10))
    seen = {
        subprocess.run([sys.executable, "-c", code, settings], env={"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True).stdout
        for hash_seed in "01"
    }
    assert len(seen) == 1


def test_several_files_follow_each_other(tmp_path, rows):
    files = [jsonl(tmp_path / "a", rows[:15]), jsonl(tmp_path / "b", rows[15:])]
    table, meta = read(files)
    assert table.text[table.split == "test"].tolist() == [text for text, _ in rows]
    assert [one["name"] for one in meta["files"]["train"]] == ["a", "b"]


def test_public_layouts(tmp_path):
    """A CSV without a header and classes from 1, columns joined; a TSV with blanks around names and values."""
    (tmp_path / "test.csv").write_text('"2","Title","A ""short"" description\\here"\n"1","","Only a description"\n' * 2, encoding="utf-8")
    (tmp_path / "train.tsv").write_text('sentence \t label\nsays "yes" . \t 0\n"no" \t 1\nmore \t 0\nless \t 1\n', encoding="utf-8")
    settings = {
        "train": {"format": "tsv", "text": ["sentence"], "label": "label"},
        "test": {"format": "csv", "header": False, "text": [1, 2], "label": 0, "labels": {"1": "bad", "2": "good"}},
        "labels": {"0": "bad", "1": "good"},
    }
    files = {"train": [str(tmp_path / "train.tsv")], "test": [str(tmp_path / "test.csv")]}
    table, _ = read_dataset("toy", settings, files, 1)
    assert table.text[table.split == "test"].tolist() == ['Title A "short" description\\here', "Only a description"] * 2
    assert table.label[table.split == "test"].tolist() == [1, 0, 1, 0]
    assert sorted(table.text[table.split != "test"]) == ['"no"', "less", "more", 'says "yes" .']
    lower, _ = read_dataset("toy", settings | {"lower_case": True}, files, 1)
    assert lower.text[lower.split == "test"].iloc[0] == 'title a "short" description\\here'


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\n" + "x,0\ny,1\n" * 3, encoding="utf-8-sig")
    assert read(tmp_path / "a.csv", of("csv"))[0].text.iloc[-2:].tolist() == ["x", "y"]
    (tmp_path / "a.jsonl").write_text('{"text": "x", "label": 0}\n{"text": "y", "label": 1}\n' * 3 + "\n", encoding="utf-8-sig")
    assert read(tmp_path / "a.jsonl")[0].text.iloc[-2:].tolist() == ["x", "y"]


def test_several_labels_of_one_class(tmp_path):
    path = jsonl(tmp_path / "a", [(f"text {k}", k) for k in (1, 2, 4, 5) * 3])
    table, meta = read(path, entry(labels={1: "bad", 2: "bad", 4: "good", 5: "good"}))
    assert meta["labels"] == ["bad", "good"]
    assert table.label[table.split == "test"].tolist() == [0, 0, 1, 1] * 3


def test_labels_that_are_words_or_truth_values(tmp_path):
    path = jsonl(tmp_path / "a", [("a", True), ("b", False)] * 3)
    assert read(path, entry(labels={False: "bad", True: "good"}))[0].label.iloc[-2:].tolist() == [1, 0]
    path = write_format("huggingface", tmp_path, ["a", "b"] * 3)
    assert read(path, of("huggingface") | {"labels": {"good": "fine", "bad": "poor"}})[1]["labels"] == ["fine", "poor"]
    assert read(path, of("huggingface") | {"labels": {"good": "fine", "bad": "poor"}})[0].label.iloc[-2:].tolist() == [1, 0]


def test_repeated_texts_are_counted_and_kept(tmp_path):
    train = jsonl(tmp_path / "a", [("same", 0), ("same", 1), ("own", 0), ("other", 1)])
    test = jsonl(tmp_path / "b", [("same", 0), ("new", 1), ("new", 1)])
    table, meta = read(train, test=[test])
    assert meta["repeated"] == {"train": {"rows": 1, "texts_with_different_labels": 1}, "test": {"rows": 1, "texts_with_different_labels": 0}}
    assert meta["test_texts_also_in_train"] == 1
    assert len(table) == 7


def test_ten_thousand_words_in_one_field(tmp_path):
    long = "word " * 40_000 + "end"
    write_csv(tmp_path / "a", [(long, 0), ("b", 1)] * 2)
    limit = csv.field_size_limit()
    assert read(tmp_path / "a", of("csv"))[0].text.str.len().max() == len(long)
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("format", "content", "parts"),
    [
        ("csv", b"", ["is empty"]),
        ("csv", b"text,label\n", ["has no rows"]),
        ("csv", b"text,label\na,0\nb\xff,1\n", ["not UTF-8 (line 3, byte 0xff)"]),
        ("csv", "text,label\na,0\n".encode("utf-16"), ["not UTF-8 (line 1"]),
        ("csv", b"txt,label\na,0\n", ["no column 'text'", "'txt', 'label'", "header: false"]),
        ("csv", b"text,text,label\na,b,0\n", ["2 columns 'text'"]),
        ("csv", b"text,label\na,0\nb,1,2\n", ["row 2 (line 3)", "has 3 columns, but the first line has 2"]),
        ("csv", b"text,label\na,0\nb\n", ["row 2 (line 3)", "has 1 column,"]),
        ("csv", b'text,label\n"a\nb",0\n\nc,1\n', ["row 2 (line 4)", "is blank"]),
        ("csv", b'text,label\na,0\n"b,1\n', ["from line 3 on", "unexpected end of data"]),
        ("csv", b'text,label\n"a"b,0\n', ["from line 2 on", "expected after"]),
        ("csv", b"text,label\na,0\nb,3\n", ["row 2 (line 3)", "the label '3'", "'0', '1'"]),
        ("csv", b"text,label\na,0\n  ,1\n", ["row 2 (line 3)", "has no text in the column text"]),
        ("csv", b"text,label\na,0\nb,0\n", ["No row to train on", "class good (label '1')"]),
        ("csv", b"text,label\na,0\nb,0\nc,1\n", ["1 are of the class good", "two are needed"]),
        ("tsv", b'text\tlabel\n"two\nlines"\t0\n', ["row 1 (line 2)", "has 1 column", "quoted: true"]),
        ("tsv", b'text\tlabel\n"he said ""no"""\t0\n', ["row 1 (line 2)", "`quoted: true`, or `quoted: false`"]),
        ("jsonl", b'{"text": "a", "label": 0}\n{"text": "b"}\n', ["row 2", "lacks the column label"]),
        ("jsonl", b'{"text": "a", "label": 0}\n\n{"text": "b", "label": 1}\n', ["row 2", "is not JSON"]),
        ("jsonl", b'["a", 0]\n', ["row 1", "no object"]),
        ("jsonl", b'{"text": "a", "text": "b", "label": 0}\n', ["row 1", "'text' stands twice"]),
        ("jsonl", b'{"text": null, "label": 0}\n', ["row 1", "text is missing (null)"]),
        ("jsonl", b'{"text": 5, "label": 0}\n', ["row 1", "text is a int ('5') and no text"]),
        ("jsonl", b'{"text": "a", "label": null}\n', ["row 1", "label is missing"]),
        ("jsonl", b'{"text": "a", "label": 0.0}\n', ["the label '0.0'"]),
        ("jsonl", b'{"text": "\\ud800", "label": 0}\n', ["row 1", "surrogate"]),
        ("parquet", b"PAR1", ["not a Parquet file"]),
        ("huggingface", b"", ["no data set that save_to_disk wrote"]),
    ],
)
def test_a_fault_names_file_and_row(tmp_path, format, content, parts):
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read(path, of(format))
    assert str(path) in str(error.value)
    assert all(part in str(error.value) for part in parts), str(error.value)
    assert "\n" not in str(error.value)


def test_other_faults(tmp_path, rows):
    with pytest.raises(InputError, match="does not exist"):
        read(tmp_path / "none", of("csv"))
    path = jsonl(tmp_path / "a", rows)
    with pytest.raises(InputError, match=r"toy\.train_rows asks for 41 rows, but there are 40 .*`train_rows: 40`"):
        read(path, entry(train_rows=41))
    with pytest.raises(InputError, match=r"All 2 rows to test on .* are of the class bad: .*sorted by class"):
        read(path, test=[jsonl(tmp_path / "b", [("x", 0), ("y", 0)])])
    (tmp_path / "a.csv").write_text("a,0\nb,1\n")
    with pytest.raises(InputError, match=r"no column 2\. Its first line has 2 columns, by number: 0, 1"):
        read(tmp_path / "a.csv", of("csv", header=False, text=[2], label=1))
    pq.write_table(pa.table({"text": ["a", None], "label": [0, 1]}), tmp_path / "p")
    with pytest.raises(InputError, match="row 2: text is missing"):
        read(tmp_path / "p", of("parquet"))
    with pytest.raises(InputError, match="no column 'body'"):
        read(tmp_path / "p", of("parquet", text=["body"]))


def test_a_folder_of_several_splits_asks_for_one(tmp_path):
    import datasets

    one = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [0, -1]})
    datasets.DatasetDict({"train": one, "test": one}).save_to_disk(str(tmp_path / "set"))
    with pytest.raises(InputError, match=r"several splits: train, test\. Name the folder of one, such as .*set/train"):
        read(tmp_path / "set", of("huggingface"))
    with pytest.raises(InputError, match="row 2, has the label '-1'"):
        read(tmp_path / "set" / "train", of("huggingface"))
    assert len(files_inside([tmp_path / "set" / "train"])) == 3


@pytest.mark.data
def test_real_sets(data):
    """As many rows, and as many of each class, as the files are known to have."""
    topics = ["World", "Sports", "Business", "Sci/Tech"]
    news = {
        "train": {"format": "tsv", "text": ["sentence"], "label": "label"},
        "test": {"format": "csv", "header": False, "text": [1, 2], "label": 0, "labels": dict(zip("1234", topics, strict=True))},
        "labels": dict(enumerate(topics)),
    }
    folder = data / "topic" / "ag_news"
    table, meta = read_dataset("ag_news", news, {"train": [str(folder / "hiddenkiller_ag_dev.tsv")], "test": [str(folder / "test.csv")]}, 1)
    assert meta["rows_read"] == {"train": 10_000, "test": 7_600}
    assert meta["classes"]["test"] == dict.fromkeys(topics, 1_900)
    train = table[table.split != "test"]
    assert train.label.value_counts().sort_index().tolist() == [2403, 2485, 2667, 2445]
    assert (
        table.text[table.id == "ag_news-test-0"].item().startswith("Fears for T N pension after talks Unions representing workers at Turner   Newall")
    )
    # Backslashes of the file are still there.
    assert (folder / "test.csv").read_text(encoding="utf-8").count("\\") == table.text[table.split == "test"].str.count(r"\\").sum()
    reviews = of("jsonl") | {"labels": {0: "negative", 1: "positive"}}
    folder = data / "sentiment" / "imdb"
    table, meta = read_dataset("imdb", reviews, {part: [str(folder / f"{part}.jsonl")] for part in ("train", "test")}, 1)
    assert meta["rows_read"] == {"train": 2_500, "test": 2_500}
    with open(folder / "test.jsonl", encoding="utf-8") as file:
        first = [json.loads(line) for line in file]
    assert table.text[table.split == "test"].tolist() == [row["text"] for row in first]


def test_pandas_would_lose_what_is_kept_here(tmp_path):
    """The reason for strict reading: the common reader takes words for missing values."""
    write_csv(tmp_path / "a", [("null", 0), ("NA", 1)] * 2)
    assert pd.read_csv(tmp_path / "a").text.isna().all()
    assert read(tmp_path / "a", of("csv"))[0].text.tolist()[-2:] == ["null", "NA"]
