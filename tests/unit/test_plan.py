"""The plan of a run: its numbers by hand, and the command."""

import pytest

from muattack.cli import main
from muattack.config import read_config
from muattack.costs import captioner_parameters, encoder_shape
from muattack.fetch.catalogue import Assets
from muattack.plan import BATCH_TOKENS, Stage, holdings, stages

MACHINE = {"float32": 1e12, "bfloat16": 1e13, "bandwidth": 1e12, "share": 0.5}


@pytest.fixture(scope="module")
def paper():
    from pathlib import Path

    config = read_config(Path(__file__).parents[2] / "config" / "paper.yaml")
    return Assets(config).resolve(config)


def test_the_papers_plan_by_hand(paper):
    rows = {stage.name: stage for stage in stages(paper)}
    body = 12 * 24 * 1024**2
    # 70 of 100 images, five captions each by people and by the captioner, drawn anew in 50 epochs; 16 tokens each, two operations a parameter.
    texts = 2 * 5 * 7000
    head = 6 * 1024**2 * texts * 50
    assert rows["training of rr"].flop == pytest.approx(2 * body * 16 * texts * 50 + head)
    assert rows["training of rr"].moved == pytest.approx(4 * body * texts * 50 * 16 / BATCH_TOKENS)
    assert rows["training of finetune"].flop == pytest.approx(head)
    # What the base, which is opened, must score: three sources, nine sets, six tasks, the operators of two captioners.
    assert rows["scores of base"].texts == 3 * 5 * 1500 + 2 * 5 * 1500 * (9 + 6 + 3)
    assert rows["captions of machine"].flop == pytest.approx(10_000 * 2 * 239e6 * (576 + 5 * 30))
    # A copy is not trained.
    assert "training of rr_m0.3" not in rows
    assert encoder_shape({"source": "huggingface", "path": "/nowhere/openai_detector"}) == (24, 1024, 50_265)
    assert holdings(paper)["disk, features"] == 4 * 1024 * (rows["encoding of training texts"].texts + rows["encoding of test texts"].texts)


def test_hours_go_by_what_takes_longer():
    assert Stage("a", 1, 1, 3600e12, 0).hours(MACHINE) == pytest.approx(2)
    assert Stage("a", 1, 1, 3600e12, 0, "bfloat16").hours(MACHINE) == pytest.approx(0.2)
    assert Stage("a", 1, 1, 0, 7200e12).hours(MACHINE) == pytest.approx(4)


def test_training_through_costs_three_passes_and_the_moments(paper):
    through = {**paper, "encoders": {**paper["encoders"], "openai_detector": {**paper["encoders"]["openai_detector"], "trainable": "all"}}}
    rows = {stage.name: stage for stage in stages(through)}
    body, texts = 12 * 24 * 1024**2, 70_000
    assert rows["training of rr"].flop == pytest.approx(3 * 2 * body * 16 * texts * 10)
    assert rows["training of rr"].precision == "bfloat16"
    batches, updates = texts * 16 * 10 / 16384, texts * 10 / 512
    assert rows["training of rr"].moved == pytest.approx(3 * 4 * body * batches + 2 * 16 * body * updates)
    assert holdings(through)["GPU memory, encoder"] > 16 * 355e6


@pytest.mark.parametrize("name", ["config", "paper", "defenders", "captions", "noisyhate_real"])
def test_every_kind_of_run_has_a_plan(root, capsys, name):
    assert main(["plan", "--config", str(root / "config" / f"{name}.yaml")]) == 0
    assert "| **all** |" in capsys.readouterr().out


def test_a_weight_file_that_is_there_is_measured(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(bytes(4000))
    assert captioner_parameters(str(tmp_path)) == 1000
    assert captioner_parameters("/nowhere/blip-base") == 247e6
