"""A training that was killed goes on to the bytes of one that was left alone; a state that is stale or damaged is told and not used."""

import copy
import functools
import json
import shutil
import time
from pathlib import Path

import micro
import pytest
import torch
from safetensors.torch import load_file

from muattack.data.simulate import simulate_scenes, train_captioner
from muattack.errors import InputError
from muattack.train import resume
from muattack.train.loop import train_detector
from muattack.train.pretrain import pretrain_encoder
from muattack.train.resume import Checkpoint, digest_of, state_folder

CONFIG = micro.settings()
TINY = CONFIG["encoders"]["tiny"]
KILLED = micro.folder() / "state"


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the job catches it."""


def killed_after(monkeypatch, epoch: int) -> None:
    """End the next training right after it has written the state of that epoch."""
    write = Checkpoint.write

    def write_and_die(self, number, *rest):
        write(self, number, *rest)
        if number == epoch:
            raise Killed

    monkeypatch.setattr(Checkpoint, "write", write_and_die)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def train(folder, state=None, detector=None, encoder=TINY, training=None, captions=None, **options):
    train_detector(
        micro.captions() if captions is None else captions,
        encoder,
        micro.tiny() if encoder["source"] == "pretrain" else None,
        training or settings(),
        detector or {},
        folder,
        options.pop("seed", 1),
        state_folder=state,
        every=0,
        **options,
    )
    return content(folder)


def settings(**training) -> dict:
    made = {**copy.deepcopy(CONFIG["training"]), "epochs": 4, **training}
    made["classifier"]["epochs"] = 4
    return made


@pytest.fixture
def kill(monkeypatch):
    """A function that runs a training and ends it after an epoch."""

    def run(epoch, function, *arguments, **options):
        with monkeypatch.context() as patch:
            killed_after(patch, epoch)
            with pytest.raises(Killed):
                function(*arguments, **options)

    return run


@pytest.fixture
def whole() -> dict[str, bytes]:
    """What a plain training writes when it is left alone."""
    return _left_alone()


@pytest.fixture
def state(tmp_path, kill) -> Path:
    """The state of a plain training that was killed after epoch 2."""
    if not KILLED.exists():
        kill(2, train, KILLED.parent / "killed", KILLED)
    return Path(shutil.copytree(KILLED, tmp_path / "state"))


@functools.cache
def _left_alone() -> dict[str, bytes]:
    return train(micro.folder() / "whole")


FEEDS = {
    "plain": {},
    "best is not last": {"training": settings(learning_rate=0.05)},
    "rr, each epoch drawn anew": {"detector": {"rr": 0.5, "dropout": 0.1}, "training": settings(rr={"draws": None})},
    "rr, two draws": {"detector": {"rr": 0.5}, "training": settings(rr={"draws": 2})},
    "freelb_pp": {"detector": {"adversarial": {"method": "freelb_pp"}}},
    "pgd_kpp with rr and dropout": {"detector": {"rr": 0.3, "dropout": 0.1, "adversarial": {"method": "pgd_kpp"}}},
    "bfloat16": {"training": settings(precision="bfloat16"), "detector": {"dropout": 0.1}},
    "frozen": {"frozen": True, "detector": {"rr": 0.5, "dropout": 0.2}},
    "frozen, adversarial": {"frozen": True, "detector": {"adversarial": {"method": "freelb_pp"}}},
}


# What these add to the others is little, and each trains three times.
SLOW_FEEDS = ("plain", "rr, two draws", "pgd_kpp with rr and dropout", "frozen, adversarial")


@pytest.mark.parametrize("feed", [pytest.param(feed, marks=pytest.mark.slow if feed in SLOW_FEEDS else ()) for feed in FEEDS])
def test_killed_and_gone_on_is_the_same_to_the_byte(tmp_path, kill, capsys, feed):
    options = dict(FEEDS[feed])
    if options.pop("frozen", False):
        options["encoder"] = micro.frozen_bert()
    whole = train(tmp_path / "whole", **options)
    kill(1, train, tmp_path / "killed", tmp_path / "state", **options)
    # Killed a second time, after it went on.
    kill(3, train, tmp_path / "killed", tmp_path / "state", **options)
    assert not (tmp_path / "killed").exists()
    capsys.readouterr()
    torch.manual_seed(12345)
    assert train(tmp_path / "killed", tmp_path / "state", **options) == whole
    said = capsys.readouterr().out
    assert "goes on after epoch 3" in said
    assert "epoch 4: train loss" in said
    assert "epoch 3: train loss" not in said
    # What was kept is gone, and no trace of it is in the results.
    assert not (tmp_path / "state").exists()


def test_the_best_epoch_may_lie_before_the_kill(tmp_path, kill):
    # A best epoch that the later ones do not reach: its weights have to come back from the state.
    options = {"training": settings(epochs=6, learning_rate=0.05, best="auc")}
    whole = train(tmp_path / "whole", **options)
    best = json.loads(whole["meta.json"])["best_epoch"]
    assert best < 5, "choose other settings: the best epoch must lie before the kill"
    kill(5, train, tmp_path / "killed", tmp_path / "state", **options)
    assert any(name.startswith("best/") for name in load_file(tmp_path / "state" / "epoch-5.safetensors"))
    assert train(tmp_path / "killed", tmp_path / "state", **options) == whole


def test_keeping_a_state_changes_nothing(tmp_path):
    assert train(tmp_path / "one", tmp_path / "state", {"rr": 0.3, "dropout": 0.1}) == train(tmp_path / "two", None, {"rr": 0.3, "dropout": 0.1})


def test_a_pretraining_goes_on(tmp_path, kill):
    encoder = copy.deepcopy(TINY)
    encoder["pretrain"].update(epochs=5, dropout=0.1)
    pretrain_encoder(micro.captions(), encoder, tmp_path / "whole", 1)
    options = {"state_folder": tmp_path / "state", "every": 0}
    kill(2, pretrain_encoder, micro.captions(), encoder, tmp_path / "killed", 1, **options)
    torch.manual_seed(12345)
    pretrain_encoder(micro.captions(), encoder, tmp_path / "killed", 1, **options)
    assert content(tmp_path / "killed") == content(tmp_path / "whole")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("architecture", ["gru", "transformer"])
def test_a_captioner_goes_on(tmp_path, kill, architecture):
    own = {
        "architecture": architecture, "width": 8, "epochs": 4, "learning_rate": 0.02, "batch_size": 16, "decoding": "beam", "length_penalty": 1.0,
        "top_p": 0.7, "temperature": 0.9,
    }  # fmt: skip
    wanted = {"captioner_scenes": 30, "base_scenes": 5, "captions_per_scene": 3, "machine": own, "machine_ood": own}
    simulate_scenes(wanted, 10, 1, tmp_path)

    def run(out, state=None):
        train_captioner("machine", wanted, tmp_path / "scenes.jsonl", tmp_path / "captioner_human.json", out, 1, state_folder=state, every=0)
        return content(out)

    whole = run(tmp_path / "whole")
    kill(2, run, tmp_path / "killed", tmp_path / "state")
    torch.manual_seed(12345)
    assert run(tmp_path / "killed", tmp_path / "state") == whole
    assert not (tmp_path / "state").exists()


# --- States that must not be used -------------------------------------------------------------------------------------


def other_captions():
    table = micro.captions()
    table.loc[0, "text"] = "a cat sleeps"
    return table


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"training": settings(learning_rate=0.002)}, "other settings"),
        ({"detector": {"rr": 0.3}}, "other settings, data"),
        ({"seed": 2}, "other settings, first weights"),
        ({"captions": other_captions()}, "other data"),
        # Two threads on busy cores wait for each other.
        pytest.param({"training": settings(threads=2)}, "other settings, versions or device", marks=pytest.mark.slow),
    ],
)
def test_the_state_of_something_else_is_told_and_not_used(tmp_path, state, capsys, other, told):
    whole = train(tmp_path / "whole", **other)
    capsys.readouterr()
    assert train(tmp_path / "killed", state, **other) == whole
    said = capsys.readouterr().out
    assert f"state.json is the state of a training with {told}: it is not used" in said
    assert "epoch 1: train loss" in said


def test_the_state_of_other_code_is_not_used(tmp_path, state, capsys, monkeypatch):
    monkeypatch.setattr(resume, "code_sha256", lambda module: "edited since")
    train(tmp_path / "killed", state)
    assert "a training with other code: it is not used" in capsys.readouterr().out


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-100])


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def edit(path):
    path.write_text(path.read_text().replace('"epoch": 2', '"epoch": 3'))


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("epoch-2.safetensors", cut_short),
        ("epoch-2.safetensors", flip),
        ("epoch-2.safetensors", Path.unlink),
        ("state.json", cut_short),
        ("state.json", edit),
        ("state.json", lambda path: path.write_bytes(b"")),
        ("state.json", lambda path: path.write_text("[]")),
        ("state.json", lambda path: path.write_bytes(b"\xff\xfe")),
    ],
)
def test_a_damaged_state_is_told_and_not_used(tmp_path, whole, state, capsys, file, damage):
    damage(state / file)
    capsys.readouterr()
    assert train(tmp_path / "killed", state) == whole
    said = capsys.readouterr().out
    assert "state.json is damaged" in said
    assert "epoch 1: train loss" in said


def test_a_kill_while_a_state_is_written_leaves_the_one_before(tmp_path, whole, kill, monkeypatch, capsys):
    kill(1, train, tmp_path / "killed", tmp_path / "state")
    before = content(tmp_path / "state")
    # The tensors of epoch 2 are there, state.json still speaks of those of epoch 1; beside them what a killed write leaves.
    with monkeypatch.context() as patch:
        patch.setattr(resume, "write_json", lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            train(tmp_path / "killed", tmp_path / "state")
    (tmp_path / "state" / ".state.json.abcd1234.json").write_text("{")
    assert before.items() < content(tmp_path / "state").items()
    capsys.readouterr()
    assert train(tmp_path / "killed", tmp_path / "state") == whole
    assert "goes on after epoch 1" in capsys.readouterr().out


# --- What a state costs -----------------------------------------------------------------------------------------------


def test_a_state_is_written_when_enough_was_trained(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.delenv("MUATTACK_STATE_SECONDS", raising=False)
    checkpoint = Checkpoint(tmp_path / "s", resume.__file__, dict)
    assert not checkpoint.due()
    clock[0] = 10.0
    assert checkpoint.due()

    save = resume.save_file

    def slow_save(*arguments):
        save(*arguments)
        clock[0] += 4.0

    monkeypatch.setattr(resume, "save_file", slow_save)
    checkpoint.write(1, {"a": torch.zeros(3)}, {})
    # It took 4 s: the next one is due when 200 s were trained, 2 % of them.
    clock[0] = 14.0 + 199.0
    assert not checkpoint.due()
    clock[0] = 14.0 + 200.0
    assert checkpoint.due()
    monkeypatch.setenv("MUATTACK_STATE_SECONDS", "0")
    assert Checkpoint(tmp_path / "s", resume.__file__, dict).due()
    assert not Checkpoint(None, resume.__file__, dict).due()


def test_only_the_last_state_is_kept_and_a_short_training_writes_none(tmp_path, kill):
    kill(3, train, tmp_path / "killed", tmp_path / "state")
    assert sorted(content(tmp_path / "state")) == ["epoch-3.safetensors", "state.json"]
    shutil.rmtree(tmp_path / "state")
    train_detector(micro.captions(), TINY, micro.tiny(), settings(), {}, tmp_path / "d", 1, state_folder=tmp_path / "state")
    assert not (tmp_path / "state").exists()


def test_a_failed_training_keeps_its_state(tmp_path, state):
    before = content(state)
    with pytest.raises(InputError, match="validation split is empty"):
        train(tmp_path / "killed", state, captions=micro.captions().query("split != 'val'"))
    assert content(state) == before


def test_where_states_lie():
    assert state_folder("results/demo/detectors/rr", "demo") == Path("results/demo/state/training/detectors/rr")
    assert state_folder("results/demo/classifiers/toy/encoder", "demo") == Path("results/demo/state/training/classifiers/toy/encoder")


def test_digests_tell_values_types_shapes_and_limits_apart():
    values = [
        [1, 2], [12], ["1", "2"], [[1], 2], [torch.tensor([1, 2])], [torch.tensor([[1, 2]])], [torch.tensor([1.0, 2.0])],
        [torch.tensor([1.0, 2.0]).bfloat16()], [torch.tensor(1.0)], [torch.tensor([1.0])], {"a": 1}, {"a": 2}, "a", "",
    ]  # fmt: skip
    assert len({digest_of(value) for value in values}) == len(values)
    assert digest_of(["a"], ["b"]) != digest_of(["a", "b"], [])
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
