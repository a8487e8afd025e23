"""A detector behind an address, with a server on this machine."""

import itertools
import json
import time

import pytest
from local_server import LocalServer

from muattack.detect.detector import load_detector
from muattack.detect.endpoint import EndpointDetector
from muattack.detect.opened import write_opened
from muattack.errors import InputError

pytestmark = pytest.mark.localhost


@pytest.fixture(scope="module")
def running():
    server = LocalServer()
    yield server
    server.close()


@pytest.fixture
def server(running):
    """A server that scores a text by its length; `faults` are answered first, one a request, and `asked` notes every request."""
    running.faults, running.asked = [], []

    def post(request, body):
        texts = json.loads(body)["texts"]
        running.asked.append((texts, request.headers.get("Authorization"), time.monotonic()))
        if running.faults:
            return running.faults.pop(0)
        return 200, json.dumps({"scores": [len(text) / 100 for text in texts]}).encode(), {}

    running.post = post
    return running


def detector(server, folder, **more):
    return EndpointDetector(f"{server.url}/score", folder, **{"per_minute": 1e6, "pause": 0.01, **more})


def test_no_text_is_asked_twice_by_whoever_shares_the_memory(server, tmp_path):
    first = detector(server, tmp_path, texts=2)
    texts = ["bb", "a", "bb", "ϵ\n\ud800", ""]
    assert first.predict(texts)[:, 1].tolist() == [0.02, 0.01, 0.02, 0.03, 0]
    assert [asked for asked, *_ in server.asked] == [["", "a"], ["bb", "ϵ\n\ud800"]]
    second = detector(server, tmp_path)
    second.predict(["cccc", "a"])
    assert [asked for asked, *_ in server.asked[2:]] == [["cccc"]]
    # What another job has added since is known as well; half a line of one that was killed is not.
    (memory,) = tmp_path.glob("*.jsonl")
    with open(memory, "ab") as file:
        file.write(b'{"sha256": "0')
    assert first.predict(["cccc", "ddddd"])[:, 1].tolist() == [0.04, 0.05]
    assert len(server.asked) == 4
    assert detector(server, tmp_path).predict(["ddddd", *texts])[:, 1].tolist() == [0.05, 0.02, 0.01, 0.02, 0.03, 0]
    assert len(server.asked) == 4
    assert not first.truncated(texts).any()
    # The file holds no text.
    assert {"sha256", "score"} == set(json.loads(memory.read_text(encoding="utf-8").splitlines()[0]))
    # Another address has a memory of its own.
    EndpointDetector(f"{server.url}/other", tmp_path, per_minute=1e6).predict(["a"])
    assert len(server.asked) == 5


def test_what_may_pass_is_tried_again_with_growing_pauses_and_the_rate_holds(server, tmp_path, capsys):
    server.faults = [(503, b"", {}), (429, b"", {"Retry-After": "0"}), (500, b"", {})]
    assert detector(server, tmp_path, pause=0.03).predict(["a"])[0, 1] == 0.01
    times = [at for *_, at in server.asked]
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert [pause >= least for pause, least in zip(pauses, (0.03, 0.06, 0.12), strict=True)] == [True] * 3
    assert "try 3 of 7 failed, it answered 500" in capsys.readouterr().out
    # Requests of one job and of the next keep their distance.
    server.asked.clear()
    for text in ("e", "ff"):
        detector(server, tmp_path, texts=1, per_minute=1200).predict([text, text + "g"])
    times = [at for *_, at in server.asked]
    assert min(later - earlier for earlier, later in itertools.pairwise(times)) > 0.04

    server.faults = [(502, b"busy", {})] * 7
    with pytest.raises(InputError, match=r"7 tries, the last: it answered 502 .*: busy\. What was answered is kept"):
        detector(server, tmp_path, pause=0.001).predict(["hhh"])
    with pytest.raises(InputError, match="7 tries, the last: ConnectionError"):
        EndpointDetector("http://127.0.0.1:9/score", None, per_minute=1e6, pause=0.001).predict(["a"])


def test_the_key_comes_from_the_environment_and_stays_out_of_everything(server, tmp_path, monkeypatch, capsys):
    entry = {"use": f"{server.url}/score", "endpoint": {"key": "MUATTACK_TEST_KEY", "per_minute": 1e6}}
    monkeypatch.delenv("MUATTACK_TEST_KEY", raising=False)
    with pytest.raises(InputError, match="environment variable MUATTACK_TEST_KEY"):
        write_opened(tmp_path / "detectors" / "d", entry, [])
    monkeypatch.setenv("MUATTACK_TEST_KEY", "se-cret")
    write_opened(tmp_path / "detectors" / "d", entry, [])
    assert not server.asked
    served = load_detector(tmp_path / "detectors" / "d")
    served.pause = 0.001
    server.faults = [(503, b"se-cret is busy", {})]
    served.predict(["a"])
    assert server.asked[-1][1] == "Bearer se-cret"
    server.faults = [(401, b"no such key: se-cret", {})]
    with pytest.raises(InputError, match=r"no such key: …\. Check the address, and the key"):
        served.predict(["bb"])
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert tmp_path / "state" / "endpoints" in {path.parent for path in kept}
    assert not any(b"se-cret" in path.read_bytes() for path in kept)
    assert "se-cret" not in capsys.readouterr().out
    with pytest.raises(InputError, match="your key unencrypted"):
        EndpointDetector("http://host.example/score", None, "MUATTACK_TEST_KEY")


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        ((200, b"fine", {}), "answered 'fine'"),
        ((200, b'{"score": [0.5]}', {}), "must answer"),
        ((200, b'{"scores": [0.5]}', {}), "1 scores for 2 texts"),
        ((200, b'{"scores": [0.5, 50]}', {}), "one of its scores is 50. It must answer .* 2 numbers from 0 to 1"),
        ((200, b'{"scores": [0.5, NaN]}', {}), "one of its scores is nan"),
        ((200, b'{"scores": [0.5, true]}', {}), "one of its scores is True"),
        ((302, b"", {"Location": "/elsewhere"}), "answered 302 .* redirects are not followed"),
    ],
)
def test_an_answer_of_another_shape_is_told_and_not_kept(server, tmp_path, answer, part):
    server.faults = [answer]
    with pytest.raises(InputError, match=part):
        detector(server, tmp_path).predict(["a", "bb"])
    assert len(server.asked) == 1
    assert not list(tmp_path.glob("*.jsonl"))
