"""Downloads from a server that breaks off, lies, refuses and repents; two at once; archives; images; the lock file."""

import hashlib
import io
import json
import socket
import threading
import zipfile
from pathlib import Path

import pytest
from local_server import LocalServer

from muattack.errors import InputError
from muattack.fetch.download import CHUNK, fetch_file, receive
from muattack.fetch.images import fetch_images, first_images
from muattack.fetch.lock import read_lock, record

pytestmark = pytest.mark.localhost
# Every byte tells its place.
CONTENT = b"".join(index.to_bytes(4, "big") for index in range(400_000))
# Whole chunks are what is kept of a download that breaks off.
CUT = 10 * CHUNK
SUM = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server():
    one = LocalServer()
    yield one
    one.close()


@pytest.fixture
def fetch(server, tmp_path):
    """Fetch /weights.bin into the test's folder; keywords change the source. Returns the file and what was said."""
    server.files["/weights.bin"] = CONTENT

    def run(attempts=3, **change):
        source = {"asset": "model", "what": "a model", "needs": ["weights.bin"], "key": "model/weights.bin", "size": None, "sha256": None}
        source |= {"url": f"{server.url}/weights.bin"} | change
        said = []
        fetch_file(source, tmp_path / "out" / "weights.bin", tmp_path / "downloads", tmp_path / "lock.json", said.append, attempts, pause=0.01)
        return tmp_path / "out" / "weights.bin", said

    run.part = tmp_path / "downloads" / "model" / "weights.bin.part"
    run.stored = tmp_path / "downloads" / "model" / "weights.bin"
    run.lock = tmp_path / "lock.json"
    run.out = tmp_path / "out" / "weights.bin"
    return run


def refused(fetch, *parts, **change):
    """The message of a fetch that must fail, which names asset, address and override; and leaves no file."""
    with pytest.raises(InputError) as error:
        fetch(**change)
    for part in ("The asset model (a model)", "weights.bin", "fetch: {local: {model: FOLDER}}", "make fetch", *parts):
        assert part in str(error.value), str(error.value)
    assert not fetch.out.exists()
    return str(error.value)


def test_a_file_comes_and_is_recorded(fetch, server):
    file, said = fetch()
    assert file.read_bytes() == CONTENT
    assert read_lock(fetch.lock) == {"model/weights.bin": {"url": f"{server.url}/weights.bin", "size": len(CONTENT), "sha256": SUM}}
    assert said == []
    assert not fetch.part.exists()
    # Deleted, as snakemake deletes what it makes again: no download, and the file is as old as it was.
    before = file.stat().st_mtime_ns
    file.unlink()
    fetch()
    assert file.stat().st_mtime_ns == before
    assert len(server.asked) == 1


def test_it_goes_on_where_the_connection_broke(fetch, server):
    server.faults["/weights.bin"] = [("cut", CUT + 5), ("cut", 2 * CHUNK)]
    file, said = fetch()
    assert file.read_bytes() == CONTENT
    assert server.asked == [("/weights.bin", None), ("/weights.bin", f"bytes={CUT}-"), ("/weights.bin", f"bytes={CUT + 2 * CHUNK}-")]
    assert f"from byte {CUT:,} on" in said[0]


def test_tries_that_bring_something_are_not_counted(fetch, server):
    server.faults["/weights.bin"] = [("cut", 3 * CHUNK)] * 7
    assert fetch(attempts=2)[0].read_bytes() == CONTENT


def test_half_a_download_is_kept_for_the_next_run(fetch, server):
    server.faults["/weights.bin"] = [("cut", CUT), ("status", 503), ("status", 503), ("status", 503)]
    message = refused(fetch, "503", "3 times in a row", f"The {CUT:,} bytes that came are kept")
    assert message.count("\n") == 0
    server.asked.clear()
    assert fetch()[0].read_bytes() == CONTENT
    assert server.asked == [("/weights.bin", f"bytes={CUT}-")]


def test_a_server_without_ranges_starts_over(fetch, server):
    server.ranges = False
    server.faults["/weights.bin"] = [("cut", CUT)]
    assert fetch()[0].read_bytes() == CONTENT


def test_a_file_that_changed_in_between_is_not_mixed(fetch, server):
    server.faults["/weights.bin"] = [("cut", CUT), ("status", 503), ("status", 503), ("status", 503)]
    refused(fetch)
    server.files["/weights.bin"] = CONTENT[::-1]
    # If-Range tells the server which version the first half is of, so it sends the whole new file.
    assert fetch()[0].read_bytes() == CONTENT[::-1]


def test_halves_that_nothing_binds_are_not_joined(fetch, server):
    server.tags = False
    server.faults["/weights.bin"] = [("cut", CUT), *[("status", 503)] * 3]
    refused(fetch)
    assert fetch.part.stat().st_size == CUT
    server.asked.clear()
    assert fetch()[0].read_bytes() == CONTENT
    assert server.asked == [("/weights.bin", None)]


def test_wrong_halves_are_noticed_by_the_checksum_and_fetched_again(fetch, server):
    server.tags = False
    fetch.part.parent.mkdir(parents=True)
    fetch.part.write_bytes(b"x" * 700_000)
    file, said = fetch(sha256=SUM)
    assert file.read_bytes() == CONTENT
    assert server.asked == [("/weights.bin", "bytes=700000-"), ("/weights.bin", None)]
    assert "do not belong together" in said[-1]


@pytest.mark.parametrize("length", [len(CONTENT), len(CONTENT) + 5])
def test_a_part_as_long_as_the_file_or_longer(fetch, server, length):
    fetch.part.parent.mkdir(parents=True)
    fetch.part.write_bytes((CONTENT + b"12345")[:length])
    assert fetch(sha256=SUM)[0].read_bytes() == CONTENT
    fetch.out.unlink()
    fetch.stored.unlink()
    fetch.part.write_bytes((CONTENT + b"12345")[:length])
    assert fetch(sha256=SUM, size=len(CONTENT))[0].read_bytes() == CONTENT


def test_wrong_bytes_are_refused_and_thrown_away(fetch, server):
    server.faults["/weights.bin"] = [("bytes", b"wrong")]
    refused(fetch, f"expected {SUM}", hashlib.sha256(b"wrong").hexdigest(), "the catalogue says", sha256=SUM)
    assert not fetch.part.exists()
    assert read_lock(fetch.lock) == {}
    server.faults["/weights.bin"] = [("bytes", b"wrong")]
    refused(fetch, "has 5 bytes, but the catalogue says 1,600,000", size=len(CONTENT))
    assert fetch(sha256=SUM)[0].read_bytes() == CONTENT


def test_what_was_recorded_once_is_checked_ever_after(fetch, server):
    fetch()
    fetch.out.unlink()
    fetch.stored.unlink()
    server.files["/weights.bin"] = b"another version"
    refused(fetch, "the lock file says", "delete the line 'model/weights.bin'", str(fetch.lock))
    # Of another address the lock knows nothing.
    server.files["/second.bin"] = b"another version"
    assert fetch(url=f"{server.url}/second.bin")[0].read_bytes() == b"another version"


def test_a_stored_file_that_was_damaged_is_fetched_again(fetch, server):
    fetch()
    fetch.out.unlink()
    fetch.stored.write_bytes(b"damaged")
    file, said = fetch()
    assert file.read_bytes() == CONTENT
    assert "is not what the lock file says" in said[0]


@pytest.mark.parametrize("status", [404, 403, 401, 410])
def test_a_refusal_is_not_asked_again(fetch, server, status):
    server.faults["/weights.bin"] = [("status", status)]
    refused(fetch, f"the server answers {status}")
    assert len(server.asked) == 1


def test_503_is_asked_again_and_waits_as_long_as_it_says(fetch, server, monkeypatch):
    waits = []
    monkeypatch.setattr("muattack.fetch.download.time.sleep", waits.append)
    server.faults["/weights.bin"] = [("status", 503), ("status", 500), ("status", 429, {"Retry-After": "7"})]
    assert fetch(attempts=5)[0].read_bytes() == CONTENT
    # The server's own delay sleeps too, for nothing.
    assert [wait for wait in waits if wait] == [0.01, 0.02, 7.0]


def test_a_web_page_in_the_files_place(fetch, server):
    server.kind = "text/html; charset=utf-8"
    refused(fetch, "a web page in the file's place")


def test_no_network(fetch, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    refused(fetch, "no connection", "2 times in a row", url=f"http://127.0.0.1:{port}/weights.bin", attempts=2)


def test_a_full_disk_is_told_before_it_is_full(fetch, monkeypatch):
    monkeypatch.setattr("muattack.fetch.download.shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000})())
    refused(fetch, "1,600,000 bytes are to come", "room for 1,000")


def test_progress_is_told(server, tmp_path, monkeypatch):
    server.files["/weights.bin"] = CONTENT
    monkeypatch.setattr("muattack.fetch.download.EVERY", 0.0)
    said = []
    receive(f"{server.url}/weights.bin", tmp_path / "part", None, said.append, "weights")
    assert said[-1].startswith("weights: 2 of 2 MB, ")


def test_two_at_once_download_once(fetch, server):
    server.delay = 0.3
    said, errors = [], []

    def run():
        try:
            said.append(fetch()[1])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert fetch.out.read_bytes() == CONTENT
    assert len(server.asked) == 1
    assert sorted(said, key=len)[1] == ["Another process is fetching weights.bin; waiting for it."]


# --- Archives ---------------------------------------------------------------------------------------------------------


def zipped(**files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"folder/{name}.txt", content)
    return stream.getvalue()


def member(server, name, sha256=None):
    return {
        "url": f"{server.url}/all.zip", "key": "model/all.zip", "member": f"folder/{name}.txt", "file": {"key": f"model/{name}.txt", "size": None, "sha256": sha256},
    }  # fmt: skip


def test_files_come_out_of_an_archive_that_is_fetched_once(fetch, server):
    server.files["/all.zip"] = zipped(a="first", b="second")
    assert fetch(**member(server, "a"))[0].read_text() == "first"
    assert fetch(**member(server, "b"))[0].read_text() == "second"
    assert len(server.asked) == 1
    assert set(read_lock(fetch.lock)) == {"model/all.zip", "model/a.txt", "model/b.txt"}


def test_archives_that_are_none_or_lack_the_file(fetch, server):
    server.files["/all.zip"] = b"no zip"
    refused(fetch, "no zip archive", **member(server, "a"))
    assert read_lock(fetch.lock) == {}
    server.files["/all.zip"] = zipped(b="second")
    refused(fetch, "has no file folder/a.txt", **member(server, "a"))
    refused(fetch, "folder/b.txt in it has another checksum", **member(server, "b", sha256="0" * 64))


# --- Images -----------------------------------------------------------------------------------------------------------


def annotations(path, count, name="{:012}.jpg", year=2017):
    # Not in the order of their ids.
    images = [{"id": 1000 - index, "file_name": name.format(1000 - index)} for index in range(count)]
    path.write_text(json.dumps({"info": {"year": year}, "images": images, "annotations": []}))
    return path


@pytest.fixture
def photographs(server, tmp_path):
    """Fetch the first images; returns the list's rows."""
    listed = annotations(tmp_path / "captions_train2017.json", 30)
    for image in first_images(listed, 30):
        server.files[f"/train/{image['file']}"] = b"\xff\xd8" + image["file"].encode()

    def run(count, local=None, **change):
        source = {"asset": "photographs", "what": "photographs", "url": f"{server.url}/train"}
        out, lock = tmp_path / f"first-{count}.jsonl", tmp_path / "lock.json"
        fetch_images(listed, count, source, tmp_path / "images", lock, out, local, lambda text: None, 2, 0.01, **change)
        return [json.loads(line) for line in out.read_text().splitlines()]

    return run


def test_the_first_images_come_in_the_order_of_the_annotations(photographs, server, tmp_path):
    rows = photographs(20)
    assert [row["image_id"] for row in rows] == [str(1000 - index) for index in range(20)]
    for row in rows:
        content = Path(row["path"]).read_bytes()
        assert content.endswith(f"{int(row['image_id']):012}.jpg".encode())
        assert (row["bytes"], row["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert len(read_lock(tmp_path / "lock.json")) == 20
    # More of them: only the new ones are fetched; a damaged one is fetched again.
    server.asked.clear()
    Path(rows[3]["path"]).write_bytes(b"\xff\xd8damaged")
    assert photographs(25)[:20] == rows
    assert sorted(path for path, _ in server.asked) == sorted([f"/train/{1000 - index:012}.jpg" for index in (3, 20, 21, 22, 23, 24)])


def test_an_image_that_fails_names_itself_and_keeps_the_others(photographs, server, tmp_path):
    server.files["/train/000000000995.jpg"] = b"<html>"
    with pytest.raises(InputError, match=r"photographs.*000000000995\.jpg.*no JPEG image.*fetch: \{local: \{photographs: FOLDER\}\}"):
        photographs(10)
    assert "photographs/000000000995.jpg" not in read_lock(tmp_path / "lock.json")
    server.files["/train/000000000995.jpg"] = b"\xff\xd8mended"
    lost = server.files.pop("/train/000000000980.jpg")
    with pytest.raises(InputError, match=r"000000000980\.jpg: the server answers 404"):
        photographs(21)
    server.asked.clear()
    server.files["/train/000000000980.jpg"] = lost
    assert len(photographs(21)) == 21
    assert ("/train/000000001000.jpg", None) not in server.asked


def test_a_copy_of_ones_own_is_read_only(photographs, server, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    for index in range(3):
        (mine / f"{1000 - index:012}.jpg").write_bytes(b"\xff\xd8mine")
    assert [row["path"] for row in photographs(3, local=str(mine))] == [str(mine / f"{1000 - index:012}.jpg") for index in range(3)]
    assert server.asked == []
    with pytest.raises(InputError, match=r"fetch\.local\.photographs is .*lacks 1 of the first 4 images.*000000000997\.jpg"):
        photographs(4, local=str(mine))


def test_annotations_that_do_not_fit(tmp_path):
    other = annotations(tmp_path / "captions_train2014.json", 12, "COCO_train2014_{:012}.jpg", 2014)
    with pytest.raises(InputError, match=r"captions_train2014\.json are of the year 2014.*COCO 2017"):
        first_images(other, 5)
    unmarked = annotations(tmp_path / "unmarked.json", 12, "COCO_train2014_{:012}.jpg", None)
    with pytest.raises(InputError, match=r"COCO_train2014_000000001000\.jpg.*not named as those of 2017"):
        first_images(unmarked, 5)
    outside = annotations(tmp_path / "outside.json", 2, "../{:012}.jpg")
    with pytest.raises(InputError, match="not named as those of 2017"):
        first_images(outside, 2)
    with pytest.raises(InputError, match="list 12 images, but 13"):
        first_images(annotations(tmp_path / "few.json", 12), 13)
    (tmp_path / "results.json").write_text('[{"image_id": 1, "caption": "a cat"}]')
    with pytest.raises(InputError, match=r"no annotations of COCO.*captions_train2017\.json"):
        first_images(tmp_path / "results.json", 1)


# --- The lock file ----------------------------------------------------------------------------------------------------


def test_writers_of_the_lock_file_do_not_lose_each_others_entries(tmp_path):
    entry = {"url": "http://a", "size": 1, "sha256": "0" * 64}
    threads = [threading.Thread(target=record, args=(tmp_path / "lock.json", {f"a/{index}": entry})) for index in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_lock(tmp_path / "lock.json")) == sorted(f"a/{index}" for index in range(12))


@pytest.mark.parametrize("text", ["{", "[]", '{"a": {"url": "http://a"}}', '{"a": 1}'])
def test_a_damaged_lock_file_is_named(tmp_path, text):
    (tmp_path / "lock.json").write_text(text)
    with pytest.raises(InputError, match=r"lock\.json cannot be read"):
        read_lock(tmp_path / "lock.json")
