"""No room on the disk, no right to write, results of another version, files that cannot be read: told in one paragraph, and nothing is left half-written."""

import json
import os
import resource
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hostile import READERS
from safetensors.numpy import save_file

from muattack import __version__
from muattack.errors import InputError, no_room
from muattack.kept import KeptLines
from muattack.records import complete_or_absent, write_json, write_records, write_text
from muattack.results import check_folder


@contextmanager
def largest_file(size: int):
    """No file may grow beyond so many bytes, for root too: as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def write_weights(path):
    with complete_or_absent(path) as temporary:
        save_file({"weight": np.zeros(10_000)}, temporary)


FRAME = pd.DataFrame({"text": [os.urandom(50).hex() for _ in range(1000)]})
WRITERS = {
    "text": lambda path: write_text(path, "x" * 50_000),
    "json": lambda path: write_json(path, ["x" * 50_000]),
    "records": lambda path: write_records(path, FRAME, {}),
    "weights": write_weights,
}


@pytest.mark.parametrize("what", WRITERS)
def test_a_full_disk_is_told_and_leaves_what_was_there(what, tmp_path):
    path = tmp_path / "folder" / "a.out"
    write_text(path, "before")
    with largest_file(10_000), pytest.raises(InputError, match=rf"{path} cannot be written: .*Make room"):
        WRITERS[what](path)
    assert path.read_text() == "before"
    assert [file.name for file in path.parent.iterdir()] == ["a.out"]
    WRITERS[what](path)
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize("what", WRITERS)
def test_a_file_where_a_folder_should_be_is_named(what, tmp_path):
    (tmp_path / "folder").write_text("mine")
    with pytest.raises(InputError, match=r"folder/a\.out cannot be written: .*Move away what stands there"):
        WRITERS[what](tmp_path / "folder" / "a.out")
    (tmp_path / "b.out").mkdir()
    with pytest.raises(InputError, match=r"b\.out cannot be written: Is a directory"):
        WRITERS[what](tmp_path / "b.out")
    assert sorted(os.listdir(tmp_path)) == ["b.out", "folder"]
    assert (tmp_path / "folder").read_text() == "mine"


def test_other_errors_stay_what_they_are(tmp_path):
    with pytest.raises(KeyError) as error, complete_or_absent(tmp_path / "a"):
        raise KeyError("x") from ValueError("why")
    assert isinstance(error.value.__cause__, ValueError)
    assert no_room(FileNotFoundError(2, "none", "a")) is None
    assert os.listdir(tmp_path) == []


def test_records_that_were_kept_before_the_disk_was_full_are_used(tmp_path):
    kept = KeptLines(tmp_path / "state.jsonl", {"seed": 1}, lambda record: True)
    kept.add({"id": "a"})
    with largest_file(150), pytest.raises(OSError, match="File too large") as error:
        kept.add({"id": "b", "text": "x" * 500})
    assert "Make room" in str(no_room(error.value))
    kept = KeptLines(tmp_path / "state.jsonl", {"seed": 1}, lambda record: True)
    assert list(kept.done) == ["a"]
    kept.close()


@pytest.mark.parametrize(
    "name", [name for name in READERS if name not in ("command line", "answers of an address", "kept lines", "state of a training")]
)
def test_a_folder_in_place_of_a_file_is_named(name, tmp_path):
    path = tmp_path / f"folder{READERS[name].ending}"
    path.mkdir()
    with pytest.raises(InputError, match=path.name):
        READERS[name].read(path)


@pytest.mark.parametrize(
    "name", ["configuration", "captions", "texts, lines", "data set, csv", "neighbours", "vectors", "attack records", "word list"]
)
def test_a_file_that_cannot_be_read_is_named(name, tmp_path):
    # Even root gets an error of the disk here; permissions would not stop it.
    path = tmp_path / f"unreadable{READERS[name].ending}"
    path.symlink_to("/proc/self/mem")
    with pytest.raises(InputError, match=path.name):
        READERS[name].read(path)


def test_the_folder_of_results_is_looked_at_first(tmp_path):
    results = tmp_path / "results"
    check_folder("mine", results)
    assert not results.exists()
    results.write_text("mine")
    with pytest.raises(InputError, match=r"results is no folder, so the results cannot land in .*results/mine\. Move it away"):
        check_folder("mine", results)
    results.unlink()
    results.symlink_to("nowhere")
    with pytest.raises(InputError, match="results is no folder"):
        check_folder("mine", results)
    # A file system that is read-only for root too.
    with pytest.raises(InputError, match=r"The folder /proc/.* cannot be written to"):
        check_folder("mine", "/proc/sys/kernel")


def test_results_of_another_version_are_not_mixed_with_ours(tmp_path):
    about = tmp_path / "mine" / "meta.json"
    write_json(about, {"versions": {"muattack": __version__}})
    check_folder("mine", tmp_path)
    write_json(about, {"versions": {"muattack": "0.0.1"}})
    with pytest.raises(InputError, match=rf"was made by muattack 0\.0\.1, and this is {__version__}.*--config run=NAME.*delete"):
        check_folder("mine", tmp_path)
    for damaged in ("", "[]", "{}", json.dumps({"versions": 1}), "[" * 100_000):
        about.write_text(damaged)
        with pytest.raises(InputError, match=r"meta\.json is damaged .*Delete it"):
            check_folder("mine", tmp_path)
    assert Path(tmp_path, "mine").is_dir()
