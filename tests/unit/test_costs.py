"""What jobs ask for: more for more texts, larger models and every attempt; a GPU only where the configuration says so."""

import copy

import pytest

from muattack.config import read_config
from muattack.costs import LIGHT, SNAKEMAKE_MB, attempted, captions_of, cost, encoder_shape, patience, rows_of

MODELS = ("pretrain", "train", "encode", "score", "attack")


@pytest.fixture
def config():
    return read_config()


@pytest.mark.parametrize("kind", [*LIGHT, *MODELS])
def test_more_texts_never_ask_for_less(config, kind):
    small, large = (cost(config, kind, texts, 16) for texts in (1_000, 1_000_000))
    assert all(value >= 0 for value in small)
    assert large[0] >= small[0]
    assert large[1] >= small[1]
    if kind not in ("copy", "attack"):
        assert large[0] > small[0] + 100


def test_a_larger_encoder_asks_for_more_memory_and_time(config):
    large = copy.deepcopy(config)
    large["encoders"]["tiny"]["pretrain"].update(layers=24, width=1024, vocabulary=50_265)
    for kind in MODELS:
        one, other = cost(config, kind, 100_000, 16), cost(large, kind, 100_000, 16)
        assert other[0] > one[0] + 1000, kind
        assert other[1] > 10 * one[1], kind
    # Weights, gradients and two moments of 354 million parameters alone.
    assert cost(large, "train", 1000, 16)[0] > 5_600


def test_ascent_steps_and_epochs_multiply_the_time_of_training(config):
    plain = cost(config, "train", 10_000, 16)[1]
    assert cost(config, "train", 10_000, 16, {"adversarial": {"method": "freelb_pp", "steps": 3}})[1] == pytest.approx(4 * plain)
    config["training"]["epochs"] *= 2
    assert cost(config, "train", 10_000, 16)[1] == pytest.approx(2 * plain)
    quick = {**config, "device": "cuda"}
    assert cost(quick, "train", 10_000, 16)[1] < plain


def test_shards_share_out_the_time_of_an_attack(config):
    whole = cost(config, "attack", 0, 16)[1]
    config["attacks"]["shards"] = 4
    assert cost(config, "attack", 0, 16)[1] == pytest.approx(whole / 4)


def test_what_is_asked_for_grows_with_each_attempt():
    assert [attempted(1000, attempt) for attempt in (1, 2, 3)] == [1650, 3300, 4950]
    assert attempted(0, 1) >= SNAKEMAKE_MB
    first, second = (patience(3600, attempt) for attempt in (1, 2))
    assert first > 60
    assert second == 2 * first
    assert patience(3600, 1, 0.5) < first


def test_sizes_come_from_the_configuration_or_from_the_files(config, tmp_path):
    assert captions_of(config, []) == 3 * 500 * 5
    config["captions"]["source"] = "files"
    file = tmp_path / "human.json"
    file.write_text("x" * 600_000)
    assert captions_of(config, [str(file)]) == 10_000
    assert rows_of({"train_rows": 100, "test_rows": None}, {"train": 10**9, "test": 25_000})[0] == 200


def test_the_shape_of_an_encoder_is_read_where_it_lies(config, tmp_path):
    assert encoder_shape(config["encoders"]["tiny"]) == (4, 128, 4000)
    assert encoder_shape(config["encoders"]["minilm"]) == (6, 384, 30522)
    (tmp_path / "config.json").write_text('{"num_hidden_layers": 24, "hidden_size": 1024, "vocab_size": 50265}')
    assert encoder_shape({"source": "huggingface", "path": str(tmp_path)}) == (24, 1024, 50265)
    assert encoder_shape({"source": "huggingface", "path": "someone/something"}) == (12, 768, 50_000)
