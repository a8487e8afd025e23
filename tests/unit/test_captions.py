"""Reading caption files: three formats, and every kind of bad file in one clear paragraph."""

import json

import pytest

from muattack.data.captions import collect_base_captions, collect_captions, merge, normalise, read_captions, split_images
from muattack.errors import InputError

SHARES = {"train": 0.7, "val": 0.15, "test": 0.15}


def write(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def images(n, text="a cat number {}"):
    return {str(i): [text.format(i), text.format(f"{i} again")] for i in range(n)}


def test_three_formats_give_the_same(tmp_path):
    plain = write(tmp_path / "plain.json", {"7": ["one", "two"], "3": ["three"]})
    rows = [{"image_id": 7, "caption": "one"}, {"image_id": 3, "caption": "three"}, {"image_id": 7, "caption": "two"}]
    results = write(tmp_path / "results.json", rows)
    annotated = write(tmp_path / "coco.json", {"images": [{"id": 7}, {"id": 3}, {"id": 5}], "annotations": rows})
    assert read_captions(plain) == read_captions(results) == read_captions(annotated) == {"7": ["one", "two"], "3": ["three"]}


def test_coco_annotations_keep_the_order_of_the_images(tmp_path):
    path = write(
        tmp_path / "coco.json", {"images": [{"id": 3}, {"id": 7}], "annotations": [{"image_id": 7, "caption": "x"}, {"image_id": 3, "caption": "y"}]}
    )
    assert list(read_captions(path)) == ["3", "7"]


@pytest.mark.parametrize("listed", [None, 5, "x"])
def test_annotations_without_a_list_of_images_are_read_in_their_order(tmp_path, listed):
    path = write(tmp_path / "coco.json", {"images": listed, "annotations": [{"image_id": 7, "caption": "x"}, {"image_id": 3, "caption": "y"}]})
    assert list(read_captions(path)) == ["7", "3"]


def test_several_files_of_one_source_follow_each_other(tmp_path):
    first, second = write(tmp_path / "1.json", {"1": ["a"], "2": ["b"]}), write(tmp_path / "2.json", {"1": ["c"], "3": ["d"]})
    assert merge([first, second]) == {"1": ["a", "c"], "2": ["b"], "3": ["d"]}


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"{", ["not valid JSON", "line 1, column 2"]),
        (b"\xef\xbb\xbf{}", ["byte order mark", "without BOM"]),
        (b'{"1": ["\n\xff"]}', ["not UTF-8", "line 2, byte 9"]),
        (b'"text"', ["no captions in a form that is known", "image_id"]),
        (b"{}", ["no captions in a form that is known"]),
        (b"[]", ["no captions in a form that is known"]),
        (b"[1]", ["entry 1", '"image_id": 1']),
        (b'[{"image_id": 1, "caption": "x"}, {"image_id": 2}]', ["entry 2"]),
        (b'{"annotations": [{"image_id": 1}], "images": []}', ["annotations entry 1"]),
        (b'{"1": "a cat"}', ["image '1'", "list of captions"]),
        (b'{"1": []}', ["image '1'", "no captions"]),
        (b'{"1": ["x", ""]}', ["image '1', caption 2", "is empty"]),
        (b'{"1": ["x", " \\t"]}', ["image '1', caption 2", "is empty"]),
        (b'{"1": ["x", 5]}', ["image '1', caption 2", "is 5 and no text"]),
        (b'{"1": [null]}', ["image '1', caption 1", "is null and no text", "take it out"]),
        (b'{"annotations": [{"image_id": true, "caption": "x"}]}', ["annotations entry 1"]),
        (b'[{"image_id": ' + b"1" * 5000 + b', "caption": "x"}]', ["cannot be read"]),
        (b'{"1": ["x"], "1": ["y"]}', ["'1' twice"]),
        (b'{"1": ["\\ud800"]}', ["image '1', caption 1", "surrogate"]),
        (b"[" * 100_000, ["nested too deeply"]),
    ],
)
def test_bad_files_are_named(tmp_path, content, parts):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_captions(path)
    assert str(path) in str(error.value)
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_captions(tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_captions(tmp_path)


def test_normalise_paper():
    assert normalise(" A man's dog, St. John  runs. ", "paper") == "a mans dog st john  runs"
    assert normalise(" A man's dog. ", "none") == " A man's dog. "


def test_table_has_one_row_a_caption_and_cuts_no_image(tmp_path):
    files = {"human": write(tmp_path / "h.json", images(20, "The cat. {}")), "machine": write(tmp_path / "m.json", images(20, "a dog {}"))}
    table, meta = collect_captions(files, None, "paper", SHARES, 1)
    assert len(table) == 80
    assert table.id.is_unique
    assert table.groupby("image_id").split.nunique().eq(1).all()
    assert table.groupby("split").image_id.nunique().to_dict() == {"train": 14, "val": 3, "test": 3}
    assert table[table.id == "human-3-1"].iloc[0].text == "the cat 3 again"
    assert table.groupby("source").label.first().to_dict() == {"human": 0, "machine": 1}
    assert meta["images_by_split"] == {"train": 14, "val": 3, "test": 3}


def test_first_images_that_all_sources_have(tmp_path):
    files = {
        "human": write(tmp_path / "h.json", images(30)),
        "machine": write(tmp_path / "m.json", {k: v for k, v in images(40).items() if int(k) % 2}),
    }
    table, meta = collect_captions(files, 12, "none", SHARES, 1)
    assert sorted(map(int, table.image_id.unique())) == [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23]
    assert meta["images_in_some_files_only"] == {"human": 15, "machine": 5}
    with pytest.raises(InputError, match=r"asks for 16 images, but only 15.*images: 15"):
        collect_captions(files, 16, "none", SHARES, 1)


def shuffled(path, name):
    """The same captions under the same ids, in another order: images backwards, annotations mixed."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if "annotations" in content:
        content = {key: sorted(rows, key=lambda row: (row["id"] * 7919) % 101) for key, rows in content.items()}
    else:
        content = dict(reversed(content.items()))
    return write(path.with_name(name), content)


@pytest.mark.parametrize("wanted", [None, 12])
def test_the_order_of_the_files_does_not_matter(tmp_path, wanted):
    human = images(25) | {"x10": ["a kite"], "x9": ["a bus"], "09": ["a boat"], "9\u00b2": ["a box"]}
    rows = [{"id": 10 * int(i) + k, "image_id": int(i), "caption": f"a dog {i} {k}"} for i in range(25) for k in range(3)]
    coco = {"images": [{"id": i} for i in range(25)], "annotations": rows}
    files = {"human": write(tmp_path / "h.json", human), "machine": write(tmp_path / "m.json", coco)}
    mixed = {"human": shuffled(tmp_path / "h.json", "h2.json"), "machine": shuffled(tmp_path / "m.json", "m2.json")}
    one, other = (collect_captions(given, wanted, "none", SHARES, 1) for given in (files, mixed))
    assert one[0].equals(other[0])
    assert one[0].image_id.unique().tolist() == [str(i) for i in range(wanted or 25)]
    assert one[0].text[one[0].id == "machine-7-2"].item() == "a dog 7 2"
    assert {key: value for key, value in one[1].items() if key != "files"} == {key: value for key, value in other[1].items() if key != "files"}
    # Ids that are no numbers, and numbers that only look like some, have a place too.
    alone, _ = collect_captions({"human": files["human"], "machine": write(tmp_path / "a.json", human)}, None, "none", SHARES, 1)
    assert alone.image_id.unique().tolist()[9:11] + alone.image_id.unique().tolist()[-3:] == ["09", "9", "9\u00b2", "x10", "x9"]


def test_too_few_images(tmp_path):
    files = {"human": write(tmp_path / "h.json", images(9)), "machine": write(tmp_path / "m.json", images(9))}
    with pytest.raises(InputError, match="Only 9 images"):
        collect_captions(files, None, "none", SHARES, 1)
    files["machine"] = write(tmp_path / "m.json", {"x": ["y"]})
    with pytest.raises(InputError, match=r"No image is in all caption files.*'x'"):
        collect_captions(files, None, "none", SHARES, 1)


def test_caption_that_normalising_empties(tmp_path):
    files = {"human": write(tmp_path / "h.json", images(10) | {"3": [" ., "]}), "machine": write(tmp_path / "m.json", images(10))}
    with pytest.raises(InputError, match=r"caption 1 of image '3'.*empty once normalised"):
        collect_captions(files, None, "paper", SHARES, 1)


def test_an_images_split_depends_on_rank_not_on_order():
    ids = [str(i) for i in range(100)]
    one, other = split_images(ids, SHARES, 5), split_images(ids[::-1], SHARES, 5)
    assert one == other
    assert one != split_images(ids, SHARES, 6)
    with pytest.raises(InputError, match="`val` would be empty"):
        split_images(ids[:10], {"train": 0.9, "val": 0.01, "test": 0.09}, 1)


def test_base_captions_have_no_test_split(tmp_path):
    files = {"human": write(tmp_path / "h.json", images(20)), "machine": write(tmp_path / "m.json", images(20))}
    table, _ = collect_base_captions(files, "none", SHARES, 1)
    assert table.groupby("split").image_id.nunique().to_dict() == {"train": 16, "val": 4}


@pytest.mark.data
def test_real_captions_have_the_published_counts(data):
    folder = data / "captions"
    files = {"human": "human", "machine": "captioner1", "machine_ood": "captioner2"}
    table, meta = collect_captions({k: str(folder / "same_images" / f"{v}.json") for k, v in files.items()}, None, "paper", SHARES, 1)
    assert meta["rows"] == {"human": 9876, "machine": 9875, "machine_ood": 9875}
    assert table.image_id.nunique() == 1975
    coco = read_captions(folder / "coco" / "captions_val2017.json")
    assert len(coco) == 5000
    assert sum(map(len, coco.values())) == 25014
