"""The fetch stage in the workflow, from a web server on this machine: what is fetched, converted, used, and said when it does not come."""

import io
import json
import zipfile

import pandas as pd
import pytest
import yaml
from local_server import LocalServer
from test_workflow import jobs, snakemake

pytestmark = pytest.mark.localhost
UNKNOWN = {"size": None, "sha256": None}
ABOUT = {"what": "a test's", "licence": "MIT", "page": "-"}
LABELS = {0: "World", 1: "Sports"}


@pytest.fixture
def server():
    one = LocalServer()
    yield one
    one.close()


@pytest.fixture
def study(server, tmp_path):
    """A study of news on a hub, vectors in an archive, and photographs; returns the arguments for snakemake."""
    table = io.BytesIO()
    rows = [(f"news number {index} of {LABELS[index % 2]}", index % 2) for index in range(40)]
    pd.DataFrame(rows, columns=["text", "label"]).to_parquet(table)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("vectors.txt", "news 1 0\nnumber 0 1\n")
    images = [{"id": index, "file_name": f"{index:012}.jpg"} for index in (5, 3, 4)]
    server.files |= {
        "/datasets/lab/news/resolve/v1/data/train.parquet": table.getvalue(),
        "/all.zip": archive.getvalue(),
        "/notes/captions.json": json.dumps({"info": {"year": 2017}, "images": images}).encode(),
    }
    server.files |= {f"/photos/{image['file_name']}": b"\xff\xd8" + bytes(9) for image in images}
    own = {
        "news": {**ABOUT, "hub": {"id": "lab/news", "kind": "dataset", "revision": "v1"}, "files": {"train.parquet": {"path": "data/train.parquet", **UNKNOWN}}},
        "vectors": {**ABOUT, "archive": {"url": f"{server.url}/all.zip", **UNKNOWN}, "files": {"vectors.txt": UNKNOWN}},
        "notes": {**ABOUT, "url": f"{server.url}/notes", "files": {"captions.json": UNKNOWN}},
        "photos": {**ABOUT, "url": f"{server.url}/photos", "images_of": {"asset": "notes", "file": "captions.json"}},
    }  # fmt: skip
    part = {"files": ["asset:news/train.parquet"], "format": "parquet", "text": ["text"], "label": "label"}
    config = {
        "run": "fetched",
        "captions": {"source": "none"},
        "classification": {"datasets": {"news": {"train": part, "test": part, "labels": LABELS}}},
        "attacks": {"synonyms": {"source": "vectors", "path": "asset:vectors/vectors.txt"}},
        "base": {"passages": ["asset:photos/first-2.jsonl"]},
        "fetch": {"catalogue": str(tmp_path / "own.yaml")},
    }
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(own))
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(config))
    return ["--cores", "2", "--configfile", str(tmp_path / "study.yaml")]


def test_jobs_fetch_what_they_need(root, tmp_path, study):
    code, output = snakemake(root, tmp_path, "--dry-run", *study)
    assert code == 0, output
    # The run itself needs no photographs: base.passages is for detectors of captions.
    assert {rule: jobs(output).get(rule) for rule in ("fetch_file", "collect_dataset", "fetch_images")} == {
        "fetch_file": 2, "collect_dataset": 1, "fetch_images": None,
    }  # fmt: skip
    code, output = snakemake(root, tmp_path, "fetch_assets", "--dry-run", *study)
    assert code == 0, output
    assert {rule: jobs(output).get(rule) for rule in ("fetch_file", "fetch_images", "fetch_assets", "total")} == {
        "fetch_file": 3, "fetch_images": 1, "fetch_assets": 1, "total": 5,
    }  # fmt: skip


@pytest.mark.slow
def test_fetched_once_then_offline(root, tmp_path, study, server, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    news = "/datasets/lab/news/resolve/v1/data/train.parquet"
    # Without it: one paragraph that names the asset, the address and the way out.
    content = server.files.pop(news)
    code, output = snakemake(root, tmp_path, "fetch_assets", *study)
    assert code != 0
    for part in ("The asset news (a test's) cannot be fetched", f"{server.url}{news}: the server answers 404", "fetch: {local: {news: FOLDER}}"):
        assert part in output
    assert "Traceback" not in output
    server.files[news] = content
    server.faults["/all.zip"] = [("cut", 10)]
    code, output = snakemake(root, tmp_path, "fetch_assets", *study)
    assert code == 0, output
    found = json.loads((tmp_path / "results" / "fetched" / "assets.json").read_text())
    assert set(found) == {"news", "vectors", "notes", "photos"}
    lock = json.loads((tmp_path / "assets.lock.json").read_text())
    assert lock["news/train.parquet"]["sha256"] == found["news"]["files"]["train.parquet"]["sha256"]
    assert {"vectors/all.zip", "vectors/vectors.txt", "photos/000000000005.jpg", "photos/000000000003.jpg"} <= lock.keys()
    rows = [json.loads(line) for line in (tmp_path / "assets" / "photos" / "first-2.jsonl").read_text().splitlines()]
    assert [row["image_id"] for row in rows] == ["5", "3"]

    # From here on without network: what is deleted comes out of the store, and the run reads the fetched file.
    server.close()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    asset = tmp_path / "assets" / "news" / "train.parquet"
    asset.unlink()
    code, output = snakemake(root, tmp_path, "results/fetched/datasets/news.parquet", *study)
    assert code == 0, output
    assert asset.samefile(tmp_path / "assets" / ".downloads" / "news" / "train.parquet")
    assert len(pd.read_parquet(tmp_path / "results" / "fetched" / "datasets" / "news.parquet")) == 80
    code, output = snakemake(root, tmp_path, "fetch_assets", "results/fetched/datasets/news.parquet", *study)
    assert code == 0, output
    assert "Nothing to be done" in output
