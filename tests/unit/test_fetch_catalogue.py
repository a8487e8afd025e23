"""The catalogue of assets, and where a configuration's assets lie."""

import re

import pytest
import yaml

from muattack.config import check_config, read_config
from muattack.errors import InputError
from muattack.fetch.catalogue import CATALOGUE, Assets, read_catalogue
from muattack.fetch.lock import record
from muattack.fetch.report import describe_assets


@pytest.fixture
def config(tmp_path, monkeypatch):
    """The default configuration, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return read_config()


def naming(config, *references, **fetch):
    """A configuration that names these assets, as files of base.passages."""
    return {**config, "base": {**config["base"], "passages": list(references)}, "fetch": {**config["fetch"], **fetch}}


def test_every_asset_says_where_it_comes_from(config):
    catalogue = read_catalogue()
    issue = {
        "coco_annotations",
        "coco_images",
        "ag_news",
        "imdb",
        "counter_fitted",
        "wordnet",
        "roberta-large",
        "bert-base-uncased",
        "openai_detector",
    }
    assert issue | {"blip-base", "vit-gpt2", "git-base-coco"} <= catalogue.keys()
    assets = Assets(naming(config, also=list(catalogue)))
    files = 0
    for name in catalogue:
        for file in assets.fetched(name):
            source = assets.source(name, file)
            assert re.match(r"https?://[a-z.]+/", source["url"])
            assert source["key"].startswith(f"{name}/")
            # A checksum without a length would be found wrong only at the end of the download.
            assert (source["sha256"] is None) or source["size"]
            files += 1
    assert files > 50


def test_hub_files_have_the_revision_in_their_address(config, monkeypatch):
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assets = Assets(naming(config, also=["ag_news", "roberta-large"]))
    revision = assets.catalogue["ag_news"]["hub"]["revision"]
    assert assets.source("ag_news", "test.parquet")["url"] == (
        f"https://huggingface.co/datasets/fancyzhx/ag_news/resolve/{revision}/data/test-00000-of-00001.parquet"
    )
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror.example")
    assert assets.source("roberta-large", "config.json")["url"].startswith("http://mirror.example/FacebookAI/roberta-large/resolve/722c")


def test_a_configuration_that_names_none_reads_no_catalogue(config):
    assets = Assets(config)
    assert (assets.wanted, assets.catalogue, assets.fetches()) == ({}, {}, {})
    assert assets.resolve(config) == config


def test_names_become_paths_and_needs_come_along(config, tmp_path):
    found = naming(
        config, "asset:ag_news/train.parquet", "asset:openai_detector", "asset:wordnet/corpora/wordnet", "asset:coco_images/first-20.jsonl"
    )
    assets = Assets(found)
    home = tmp_path / "assets"
    passages = assets.resolve(found)["base"]["passages"]
    assert passages == [
        f"{home}/{rest}" for rest in ("ag_news/train.parquet", "openai_detector", "wordnet/corpora/wordnet", "coco_images/first-20.jsonl")
    ]
    # The detector is converted in the shape of roberta-large, images are those that the annotations list.
    assert list(assets.wanted) == ["ag_news", "roberta-large", "openai_detector", "wordnet", "coco_annotations", "coco_images"]
    assert assets.fetches()["openai_detector/detector-large.pt"] == ("openai_detector", "detector-large.pt")
    assert assets.conversions("detector") == ["openai_detector"]
    assert assets.image_lists() == [f"{home}/coco_images/first-20.jsonl"]
    assert assets.files_in(f"{home}/openai_detector")[:2] == [f"{home}/openai_detector/config.json", f"{home}/openai_detector/model.safetensors"]
    assert f"{home}/wordnet/corpora/wordnet/data.noun" in assets.files_in(passages[2])
    assert assets.files_in("") == assets.files_in(home / "imdb") == []


def test_a_copy_of_ones_own_takes_an_assets_place(config, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "train.parquet").touch()
    found = naming(config, "asset:ag_news/train.parquet", local={"ag_news": "mine"})
    assets = Assets(found)
    assert assets.resolve(found)["base"]["passages"] == [f"{mine}/train.parquet"]
    assert assets.fetches() == {}
    assert assets.missing() == [f"fetch.local.ag_news is {mine}, which lacks test.parquet. It must hold train.parquet, test.parquet."]
    with pytest.raises(InputError, match=r"fetch\.local\.ag_news is .*lacks test\.parquet"):
        check_config(found)
    (mine / "test.parquet").touch()
    assert check_config(found)
    with pytest.raises(InputError, match=r"fetch\.local\.ag_news is .*which is no folder"):
        Assets(naming(config, local={"ag_news": "absent"}))


def test_a_checkpoint_of_ones_own_is_converted_or_taken_as_it_is(config, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    found = naming(config, "asset:openai_detector", local={"openai_detector": str(mine)})
    assert "or detector-large.pt to make them from" in Assets(found).missing()[0]
    (mine / "detector-large.pt").touch()
    assets = Assets(found)
    assert assets.missing() == []
    assert assets.conversions("detector") == ["openai_detector"]
    assert assets.path("openai_detector", "detector-large.pt") == f"{mine}/detector-large.pt"
    assert assets.resolve(found)["base"]["passages"] == [f"{tmp_path}/assets/openai_detector"]
    for file in assets.final("openai_detector"):
        (mine / file).touch()
    assets = Assets(found)
    # Converted already: nothing to make, and roberta-large is not needed.
    assert assets.conversions("detector") == []
    assert list(assets.wanted) == ["openai_detector"]
    assert assets.resolve(found)["base"]["passages"] == [str(mine)]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("asset:ag_new/train.parquet", r"`asset:ag_new/train\.parquet`, but there is no such asset\. Did you mean `ag_news`\?"),
        ("asset:ag_news/train.csv", r"ag_news has no file `train\.csv`\. It has: train\.parquet, test\.parquet\."),
        ("asset:openai_detector/detector-large.pt", r"has no file `detector-large\.pt`"),
        ("asset:coco_images", r"as asset:coco_images/first-10000\.jsonl"),
        ("asset:coco_images/first-0.jsonl", r"as asset:coco_images/first-10000\.jsonl"),
        ("asset:coco_images/first-007.jsonl", r"as asset:coco_images/first-10000\.jsonl"),
    ],
)
def test_unknown_names_are_told_with_the_configuration(config, reference, message):
    with pytest.raises(InputError, match=message):
        check_config(naming(config, reference))


def test_unknown_names_in_fetch(config):
    with pytest.raises(InputError, match=r"fetch\.local names `imbd`.*Did you mean `imdb`\?"):
        check_config(naming(config, local={"imbd": "."}))
    with pytest.raises(InputError, match=r"fetch\.also names `imbd`.*Did you mean `imdb`\?"):
        check_config(naming(config, also=["imbd"]))


OWN = {
    "mine": {"what": "my model", "licence": "MIT", "page": "-", "url": "https://example.org/m", "files": {"a.bin": {"size": None, "sha256": None}}}
}


def test_a_catalogue_of_ones_own_adds_assets(config, tmp_path):
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(OWN))
    assets = Assets(naming(config, "asset:mine/a.bin", catalogue="own.yaml"))
    assert assets.source("mine", "a.bin")["url"] == "https://example.org/m/a.bin"
    assert "imdb" in assets.catalogue


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"files": {"../a": {"size": None, "sha256": None}}}, r"own\.yaml has a fault at mine.*\.\./a"),
        ({"files": {"a": {"size": None, "sha256": "12"}}}, r"mine\.files\.a\.sha256"),
        ({"url": "ftp://example.org"}, r"mine\.url.*ftp"),
        ({"licens": "MIT"}, r"at mine: .*licens"),
        ({"hub": {"id": "a/b", "kind": "model", "revision": "main"}}, "fault at mine"),
        ({"convert": {"detector": "a.bin", "like": "roberta"}}, "asset mine, convert.like, names the unknown asset `roberta`"),
    ],
)
def test_faults_of_a_catalogue_are_named(config, tmp_path, change, message):
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump({"mine": OWN["mine"] | change}))
    with pytest.raises(InputError, match=message):
        read_catalogue(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_catalogue(tmp_path / "absent.yaml")


def test_what_a_run_has_is_described_and_checked_again(config, tmp_path):
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(OWN))
    assets = Assets(naming(config, "asset:mine/a.bin", catalogue="own.yaml"))
    place = tmp_path / "assets" / "mine"
    place.mkdir(parents=True)
    (place / "a.bin").write_bytes(b"abc")
    sums = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    record(assets.lock, {"mine/a.bin": {"url": "https://example.org/m/a.bin", "size": 3, "sha256": sums}})
    assert describe_assets(assets) == {
        "mine": {"what": "my model", "licence": "MIT", "page": "-", "place": "fetched", "files": {"a.bin": {"size": 3, "sha256": sums}}}
    }
    (place / "a.bin").write_bytes(b"abd")
    with pytest.raises(InputError, match=rf"{place}/a\.bin of the asset mine has changed.*the lock file says SHA-256 {sums}"):
        describe_assets(assets)


def test_the_shipped_catalogue_has_no_key_twice():
    text = CATALOGUE.read_text(encoding="utf-8")
    names = re.findall(r"^([A-Za-z0-9_.-]+):", text, re.MULTILINE)
    assert len(names) == len(set(names)) == len(read_catalogue())


def test_nothing_but_the_fetch_stage_web_normalisers_and_endpoints_knows_the_network(root):
    clients = re.compile(r"^\s*(?:import|from) (?:requests|urllib3|urllib\.request|http\.client|httpx|aiohttp)\b", re.MULTILINE)
    found = {
        path.relative_to(root / "workflow").as_posix()
        for path in (root / "workflow").rglob("*.py")
        if clients.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"muattack/fetch/download.py", "muattack/fetch/images.py", "muattack/mutate/normalise_text.py", "muattack/detect/endpoint.py"}
