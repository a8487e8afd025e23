"""Adversarial training: closed forms, what must be plain training to the bit, norms, padding, frozen encoders, facts."""

import copy
import json
from unittest import mock

import micro
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from torch import nn

from muattack.detect.detector import load_detector
from muattack.detect.encoder import build_classifier, load_tokenizer, shifted_embeddings, tokenise
from muattack.errors import InputError
from muattack.results import trained_as, training_settings
from muattack.train import adversarial
from muattack.train.adversarial import BOUNDED, adversarial_facts, embedding_norm, initial_perturbation, make_step, resolve
from muattack.train.batches import pad, shuffled_batches
from muattack.train.loop import TokenFeed, plain_step, train_detector
from muattack.train.optimise import State, batch_loss, make_optimiser, make_schedule, take_step

CONFIG = micro.settings(epochs=2)
TINY = CONFIG["encoders"]["tiny"]
USUAL = {**CONFIG["training"]["adversarial"], "steps": 3, "step_size": 0.3, "initial_magnitude": 0.2, "max_norm": 0.5}
FEED = TokenFeed(None, 50, 256)


class Words(nn.Module):
    """An encoder that is nothing but word embeddings."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding


class Summed(nn.Module):
    """A classifier on the sum of a text's word embeddings: linear, or with a bend in it."""

    def __init__(self, width: int = 4, classes: int = 2, bend: bool = False) -> None:
        super().__init__()
        self.body, self.out, self.bend = Words(20, width), nn.Linear(width, classes), bend

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = self.body.embedding(ids)
        return self.out(((torch.tanh(states) if self.bend else states) * mask[..., None]).sum(1))


def plain_sgd(model: nn.Module, seed: int = 5) -> State:
    """Return a state in which a step takes exactly the gradient off the weights."""
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    return State(model, optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1.0), clip_norm=1e9, seed=seed)


def batch(lengths=(3, 1, 2), words=20, classes=2, seed=0):
    random = np.random.default_rng(seed)
    return pad([random.integers(1, words, length).tolist() for length in lengths], 0), torch.from_numpy(random.integers(0, classes, len(lengths)))


def seen_by(step, state, inputs, labels, feed=FEED):
    """Take a step; return the perturbations at which the loss was taken, the gradients that moved the weights, and the loss."""
    deltas, gradients = [], {}

    def loss(feed, state, inputs, labels, delta):
        deltas.append(delta.detach().clone())
        return perturbed(feed, state, inputs, labels, delta)

    def move(state):
        gradients.update({name: weight.grad.clone() for name, weight in state.model.named_parameters() if weight.grad is not None})
        take_step(state)

    perturbed = adversarial.perturbed_loss
    with mock.patch.object(adversarial, "perturbed_loss", loss), mock.patch.object(adversarial, "take_step", move):
        value = step(feed, state, inputs, labels)
    return deltas, gradients, value


# --- What is known of a linear model ----------------------------------------------------------------------------------


def closed_form(model, inputs, labels, delta):
    """Return gradients of weights, bias and word embeddings of the linear model at delta, by hand in float64."""
    ids, mask = (array.numpy() for array in inputs)
    weight, bias, table = (value.detach().double().numpy() for value in (model.out.weight, model.out.bias, model.body.embedding.weight))
    summed = ((table[ids] + delta) * mask[..., None]).sum(1)
    logits = summed @ weight.T + bias
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    error = (shares - np.eye(len(weight))[labels.numpy()]) / len(ids)
    words = np.zeros_like(table)
    np.add.at(words, ids, (error @ weight)[:, None] * mask[..., None])
    return {"out.weight": error.T @ summed, "out.bias": error.sum(0), "body.embedding.weight": words}


@pytest.mark.parametrize("method", BOUNDED)
@pytest.mark.parametrize("magnitude", [0.0, 0.2])
def test_a_linear_model_climbs_where_it_must(method, magnitude):
    torch.manual_seed(1)
    model, (inputs, labels) = Summed(), batch()
    before = copy.deepcopy(model)
    alpha, steps, bound = 0.3, 4, 0.7
    step = make_step({**USUAL, "method": method, "steps": steps, "step_size": alpha, "initial_magnitude": magnitude, "max_norm": bound})
    state = plain_sgd(model)
    deltas, _, loss = seen_by(step, state, inputs, labels)

    # Away from the true class and towards the other, alike in every token: that direction has length 1 over the text.
    weight, mask = before.out.weight.detach().double().numpy(), inputs[1].numpy()
    towards = np.array([weight[1 - label] - weight[label] for label in labels.numpy()])
    direction = towards[:, None] * mask[..., None] / (np.linalg.norm(towards, axis=1) * np.sqrt(mask.sum(1)))[:, None, None]
    first = deltas[0].double().numpy()
    assert (magnitude == 0) == (not first.any())
    assert len(deltas) == (steps if method.startswith("freelb") else steps + 1)
    for t, delta in enumerate(deltas):
        if not BOUNDED[method]:
            wanted = first + t * alpha * direction
        elif magnitude == 0:
            wanted = min(t * alpha, bound) * direction
        else:
            continue
        assert np.allclose(delta.numpy(), wanted, atol=1e-6)

    at = deltas if method.startswith("freelb") else deltas[-1:]
    by_hand = [closed_form(before, inputs, labels, delta.double().numpy()) for delta in at]
    for name, weight in before.named_parameters():
        gradient = np.mean([one[name] for one in by_hand], axis=0)
        assert np.allclose(model.get_parameter(name).detach().numpy(), weight.detach().numpy() - gradient, atol=1e-5), name
    assert loss > plain_sgd_loss(before, inputs, labels)


def plain_sgd_loss(model, inputs, labels):
    return nn.functional.cross_entropy(model(*inputs), labels).item()


# --- Norms, padding, draws --------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=15)
@given(
    method=st.sampled_from(sorted(BOUNDED)),
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    steps=st.integers(1, 5),
    alpha=st.floats(0, 2),
    # Not what float32 cannot tell from nothing: a bound on rounded subnormal numbers says nothing.
    magnitude=st.just(0.0) | st.floats(1e-6, 2),
    bound=st.floats(0.01, 2),
    classes=st.integers(2, 4),
    seed=st.integers(0, 50),
)
def test_perturbations_keep_their_norms(method, lengths, steps, alpha, magnitude, bound, classes, seed):
    torch.manual_seed(seed)
    width = 1 + seed % 7
    inputs, labels = batch(lengths, classes=classes, seed=seed)
    step = make_step({"method": method, "steps": steps, "step_size": alpha, "initial_magnitude": magnitude, "max_norm": bound})
    deltas, _, loss = seen_by(step, plain_sgd(Summed(width, classes, bend=True)), inputs, labels)
    assert np.isfinite(loss)
    norms = [delta.double().flatten(1).norm(dim=1) for delta in deltas]
    for t, (delta, norm) in enumerate(zip(deltas, norms, strict=True)):
        assert not delta[inputs[1] == 0].any()
        assert (norm <= (norms[0] + t * alpha) * (1 + 1e-5) + 1e-7).all()
        if BOUNDED[method]:
            assert (norm <= bound * (1 + 1e-5)).all()
    most = magnitude / (inputs[1].sum(1).double() * width).sqrt()
    assert (deltas[0].abs().flatten(1).amax(1) <= most * (1 + 1e-5)).all()


def test_the_first_perturbation_is_uniform_and_its_norm_known():
    mask = torch.zeros(300, 40)
    mask[:100, :10], mask[100:, :40] = 1, 1
    delta = initial_perturbation(mask, 64, 0.05, torch.Generator().manual_seed(0))
    # Of n numbers uniform on (-1, 1) the root of the sum of squares is sqrt(n / 3).
    assert delta.flatten(1).norm(dim=1).numpy() == pytest.approx(0.05 / np.sqrt(3), rel=0.05)
    assert delta[:100].abs().max().item() == pytest.approx(0.05 / np.sqrt(640), rel=1e-3)
    assert delta.mean().abs() < 1e-5
    again = initial_perturbation(torch.nn.functional.pad(mask, (0, 7)), 64, 0.05, torch.Generator().manual_seed(0))
    assert torch.equal(again[:, :40], delta)


@pytest.mark.parametrize("method", ["freelb_pp", "pgd_k"])
@pytest.mark.parametrize("kind", ["own head", "mean pooling"])
def test_padding_is_not_perturbed_and_changes_nothing(method, kind):
    results = {}
    for length in (None, 40):
        state, tokens, labels, pad_id = micro_state(kind)
        inputs = pad(tokens[:9], pad_id, length)
        results[length] = seen_by(make_step({**USUAL, "method": method}), state, inputs, labels[:9])
    (short, short_gradients, loss), (long, long_gradients, padded_loss) = results.values()
    width = short[0].shape[1]
    assert long[0].shape[1] == 40 > width
    assert torch.equal(short[0], long[0][:, :width])
    for one, other in zip(short, long, strict=True):
        assert not other[:, width:].any()
        assert torch.allclose(one, other[:, :width], atol=2e-5)
        assert one.flatten(1).norm(dim=1).min() > 0
    assert loss == pytest.approx(padded_loss, abs=1e-5)
    for name, gradient in short_gradients.items():
        assert torch.allclose(gradient, long_gradients[name], atol=2e-4), name


def test_a_text_without_a_gradient_stays_where_it_is():
    delta = torch.full((2, 1, 2), 0.5)
    gradient = torch.tensor([[[0.0, 0.0]], [[3e-12, 4e-12]]])
    # A gradient counts by its direction alone, however short it is.
    assert torch.allclose(adversarial.climb(delta, gradient, 1.0, None), torch.tensor([[[0.5, 0.5]], [[1.1, 1.3]]]))


# --- Encoders ---------------------------------------------------------------------------------------------------------


def micro_state(kind: str = "own head", dropout: float = 0.0, seed: int = 3, precision: str = "float32", frozen: bool = False):
    """Return a state ready to train, the captions' tokens and labels, and the padding token's id."""
    folder, encoder = (micro.tiny(), TINY) if kind == "own head" else (micro.bert(), {**micro.frozen_bert(), "trainable": "all"})
    if frozen:
        encoder = {**encoder, "trainable": "classifier"}
    torch.manual_seed(seed)
    model = build_classifier(folder, encoder, dropout).train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = dropout
        if hasattr(module, "dropout_prob"):
            # BERT's attention keeps a number of its own.
            module.dropout_prob = dropout
    tokenizer = load_tokenizer(folder)
    rows = micro.captions().query("split == 'train' and source != 'machine_ood'").sample(frac=1, random_state=0)
    optimiser = make_optimiser(model, 0.01, 0.01)
    state = State(model, optimiser, make_schedule(optimiser, 20, 0.1), seed=seed, precision=precision)
    labels = torch.from_numpy(rows["label"].to_numpy(dtype=np.int64))
    return state, tokenise(tokenizer, rows["text"].tolist(), 50)[0], labels, tokenizer.pad_token_id


def weights_after(step, batches: int = 3, **options) -> dict:
    """Return all weights after some steps."""
    state, tokens, labels, pad_id = micro_state(**options)
    torch.manual_seed(7)
    for rows in shuffled_batches([len(one) for one in tokens], 96, np.random.default_rng(0))[:batches]:
        step(FEED, state, pad([tokens[i] for i in rows], pad_id), labels[rows])
    return state.model.state_dict()


def same(one: dict, other: dict) -> bool:
    return all(torch.equal(one[name], other[name]) for name in other)


@pytest.mark.parametrize("kind", ["own head", "mean pooling"])
def test_no_length_at_all_is_plain_training_to_the_bit(kind):
    # FreeLB's passes meet other dropout each; K shares of a gradient add up to it exactly where K is a power of two.
    cases = [("pgd_k", 1, 0.2), ("pgd_kpp", 3, 0.2), ("freelb", 1, 0.2), ("freelb_pp", 1, 0.2), ("freelb", 2, 0.0), ("freelb_pp", 4, 0.0)]
    plain = {dropout: weights_after(plain_step, kind=kind, dropout=dropout) for dropout in (0.0, 0.2)}
    assert not same(plain[0.0], plain[0.2])
    for method, steps, dropout in cases:
        nothing = {**USUAL, "method": method, "steps": steps, "step_size": 0, "initial_magnitude": 0}
        assert same(weights_after(make_step(nothing), kind=kind, dropout=dropout), plain[dropout]), method
    assert not same(weights_after(make_step({**nothing, "initial_magnitude": 0.1}), kind=kind), plain[0.0])


@pytest.mark.parametrize("steps", [1, 3, 5])
def test_freelb_takes_the_mean_of_the_gradients_one_by_one(steps):
    state, tokens, labels, pad_id = micro_state()
    inputs, before = pad(tokens[:12], pad_id), copy.deepcopy(state.model)
    deltas, gradients, value = seen_by(make_step({**USUAL, "method": "freelb", "steps": steps}), state, inputs, labels[:12])
    alone, losses = [], []
    for delta in deltas:
        before.zero_grad()
        with shifted_embeddings(before, delta):
            loss = nn.functional.cross_entropy(before(*inputs), labels[:12])
        loss.backward()
        losses.append(loss.item())
        alone.append({name: weight.grad.clone() for name, weight in before.named_parameters() if weight.grad is not None})
    assert len(deltas) == steps
    assert value == pytest.approx(np.mean(losses), rel=1e-6)
    for name, gradient in gradients.items():
        wanted = torch.stack([one[name] for one in alone]).mean(0)
        assert torch.allclose(gradient, wanted, rtol=1e-4, atol=1e-6 * wanted.abs().max().item() + 1e-9), name


def test_climbing_leaves_weights_and_dropout_alone():
    state, tokens, labels, pad_id = micro_state(dropout=0.2)
    inputs, before = pad(tokens[:12], pad_id), copy.deepcopy(state.model.state_dict())
    checked, dropping = [], []

    def loss(*arguments):
        checked.append([weight.grad is None for weight in state.model.parameters()])
        dropping.append([module.training for module in state.model.modules()])
        assert same(state.model.state_dict(), before)
        return perturbed(*arguments)

    perturbed = adversarial.perturbed_loss
    trainable = [weight.requires_grad for weight in state.model.parameters()]
    with mock.patch.object(adversarial, "perturbed_loss", loss):
        make_step({**USUAL, "method": "pgd_kpp"})(FEED, state, inputs, labels[:12])
    assert len(checked) == 4
    assert all(map(all, checked))
    assert [weight.requires_grad for weight in state.model.parameters()] == trainable
    # Dropout is off while climbing and on in the pass that moves the weights.
    assert not any(map(any, dropping[:3]))
    assert all(dropping[3])
    assert not same(state.model.state_dict(), before)


@pytest.mark.parametrize("kind", ["own head", "mean pooling"])
def test_a_shift_is_what_transformers_does_with_shifted_embeddings(kind):
    state, tokens, *_, pad_id = micro_state(kind)
    model, (ids, mask) = state.model.eval(), pad(tokens[:6], pad_id, 14)
    embeddings = model.body.get_input_embeddings()
    shift = torch.randn(*ids.shape, embeddings.embedding_dim, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        plain = model(ids, mask)
        with shifted_embeddings(model, shift):
            ours = model(ids, mask)
        inputs = {"inputs_embeds": embeddings(ids) + shift, "attention_mask": mask}
        if kind == "own head":
            theirs = model.model(**inputs).logits
        else:
            states, real = model.body(**inputs).last_hidden_state, mask[..., None]
            theirs = model.head((states * real).sum(1) / real.sum(1))
        assert torch.allclose(ours, theirs, atol=1e-5)
        assert not torch.allclose(ours, plain, atol=1e-2)
        assert torch.equal(model(ids, mask), plain)


def test_an_encoder_that_looks_up_nothing_is_refused():
    class Deaf(Summed):
        def forward(self, ids, mask):
            return self.out(self.body.embedding.weight[ids].sum(1))

    inputs, labels = batch()
    with pytest.raises(InputError, match="0 times"):
        make_step({**USUAL, "method": "pgd_k"})(FEED, plain_sgd(Deaf()), inputs, labels)


def test_the_embedding_norm_leaves_special_tokens_out():
    state, *_ = micro_state()
    tokenizer, weight = load_tokenizer(micro.tiny()), state.model.body.get_input_embeddings().weight.detach().numpy()
    words = [token for token in range(len(tokenizer)) if token not in tokenizer.all_special_ids]
    assert len(words) == len(tokenizer) - 5
    assert embedding_norm(state.model, tokenizer) == pytest.approx(np.linalg.norm(weight[words], axis=1).mean(), rel=1e-6)
    relative = resolve({**USUAL, "method": "freelb", "unit": "embedding_norm"}, 2.0)
    assert relative == {"method": "freelb", "steps": 3, "step_size": 0.6, "initial_magnitude": 0.4, "max_norm": 1.0}
    facts = adversarial_facts({**USUAL, "method": "freelb_pp"}, 2.0)
    assert facts["step_size"] == {"absolute": 0.3, "relative": 0.15}
    assert facts["max_norm"] is None


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"method": "freelbpp"}, "pgd_k, freelb, pgd_kpp, freelb_pp"),
        ({"unit": "norm"}, "embedding_norm"),
        ({"steps": 0}, "at least 1"),
        ({"steps": 2.5}, "steps is 2.5"),
        ({"step_size": -1}, "step_size is -1"),
        ({"initial_magnitude": float("nan")}, "initial_magnitude is nan"),
        ({"max_norm": 0}, "more than 0"),
        ({"max_norm": None}, "max_norm is None"),
    ],
)
def test_settings_that_make_no_sense_are_told(change, part):
    with pytest.raises(InputError, match=part):
        make_step({**USUAL, "method": "freelb", **change})


# --- A whole training -------------------------------------------------------------------------------------------------


def train(folder, detector, encoder=TINY, **training):
    own = encoder["source"] == "pretrain"
    train_detector(micro.captions(), encoder, micro.tiny() if own else None, {**CONFIG["training"], **training}, detector, folder, 1)
    return folder


def weights(folder):
    return (folder / "model.safetensors").read_bytes()


def test_same_seed_same_weights_and_it_combines_with_rr(tmp_path):
    both = {"rr": 0.5, "adversarial": {"method": "freelb_pp", "steps": 2, "step_size": 0.3}}
    first, again = (train(tmp_path / name, both) for name in ("first", "again"))
    assert {path.name: path.read_bytes() for path in first.iterdir()} == {path.name: path.read_bytes() for path in again.iterdir()}
    others = [train(tmp_path / f"{number}", detector) for number, detector in enumerate([{"rr": 0.5}, {"adversarial": both["adversarial"]}])]
    assert len({weights(folder) for folder in (first, *others)}) == 3
    nothing = {"rr": 0.5, "adversarial": {"method": "pgd_k", "step_size": 0, "initial_magnitude": 0}}
    assert weights(train(tmp_path / "nothing", nothing)) == weights(others[0])


def test_meta_reports_lengths_both_ways_and_the_unit_only_scales(tmp_path):
    given = {"method": "freelb", "steps": 2, "step_size": 0.2, "initial_magnitude": 0.1, "max_norm": 0.25, "unit": "embedding_norm"}
    folder = train(tmp_path / "relative", {"adversarial": given})
    facts = json.loads((folder / "meta.json").read_text())["adversarial"]
    norm = embedding_norm(build_classifier(micro.tiny(), TINY), load_tokenizer(micro.tiny()))
    assert facts["embedding_norm"] == pytest.approx(norm)
    assert facts["max_norm"] == {"absolute": pytest.approx(0.25 * norm), "relative": pytest.approx(0.25)}
    absolute = {key: facts[key]["absolute"] for key in ("step_size", "initial_magnitude", "max_norm")}
    same = train(tmp_path / "absolute", {"adversarial": {**given, **absolute, "unit": "absolute"}})
    assert weights(same) == weights(folder)
    assert json.loads((train(tmp_path / "plain", {}) / "meta.json").read_text())["adversarial"] is None


@pytest.mark.parametrize("method", ["freelb_pp", "pgd_k"])
def test_a_frozen_encoder_stays_and_the_head_learns(tmp_path, method):
    encoder = micro.frozen_bert()
    settings = copy.deepcopy(CONFIG["training"])
    settings["classifier"].update(epochs=4)
    folders = {}
    for size in (0.0, 0.01):
        detector = {"dropout": 0.1, "adversarial": {**USUAL, "method": method, "step_size": size, "initial_magnitude": 0, "max_norm": 9}}
        folders[size] = train(tmp_path / str(size), detector, encoder, **settings)
    fresh, opened = build_classifier(micro.bert(), encoder), load_detector(folders[0.01])
    assert not (folders[0.01] / "model.safetensors").exists()
    assert same(opened.model.body.state_dict(), fresh.body.state_dict())
    assert not torch.equal(opened.model.head.dense.weight, fresh.head.dense.weight)
    assert not torch.equal(opened.model.head.dense.weight, load_detector(folders[0.0]).model.head.dense.weight)
    texts = micro.captions().query("split == 'test' and source != 'machine_ood'")
    assert roc_auc_score(texts["label"], opened.predict(texts["text"].tolist())[:, 1]) > 0.9
    assert json.loads((folders[0.01] / "meta.json").read_text())["parameters_trained"] == 16 * 16 + 16 + 2 * 16 + 2
    assert len(json.loads((folders[0.01] / "history.json").read_text())) == 4


def test_a_frozen_encoder_is_not_in_training_mode():
    state, *_ = micro_state("mean pooling", frozen=True)
    assert state.model.training
    assert state.model.head.training
    assert not state.model.body.training
    assert micro_state("mean pooling")[0].model.body.training


def test_bfloat16_runs_the_forward_pass_only(tmp_path):
    state, tokens, labels, pad_id = micro_state(precision="bfloat16")
    inputs = pad(tokens[:8], pad_id)
    loss = batch_loss(FEED, state, inputs, labels[:8])
    exact = nn.functional.cross_entropy(state.model(*inputs), labels[:8])
    assert loss.dtype == torch.float32
    assert 0 < abs(loss.item() - exact.item()) < 0.05
    detector = {"adversarial": {"method": "pgd_kpp", "steps": 2}}
    folder = train(tmp_path / "d", detector, precision="bfloat16")
    assert weights(folder) != weights(train(tmp_path / "f", detector))
    assert {value.dtype for value in load_detector(folder).model.state_dict().values()} <= {torch.float32, torch.int64}
    assert json.loads((folder / "meta.json").read_text())["dtype"] == "bfloat16"


def test_a_loss_that_is_not_finite_names_the_keys_to_lower(tmp_path):
    detector = {"adversarial": {"method": "freelb_pp", "step_size": 1e38, "steps": 3}}
    with pytest.raises(InputError, match=r"not finite.*training\.learning_rate or the adversarial step_size"):
        train(tmp_path / "d", detector)
    assert not (tmp_path / "d").exists()


def test_the_configuration_says_what_training_depends_on():
    config = micro.settings()
    config["detectors"] = {
        "plain": {},
        "pp": {"adversarial": {"method": "freelb_pp"}},
        "pp again": {"adversarial": {"method": "freelb_pp", "steps": 5, "max_norm": 3.0}},
        "bounded": {"adversarial": {"method": "freelb"}},
        "bound": {"adversarial": {"method": "freelb", "max_norm": 3.0}},
    }
    assert trained_as(config) == {"plain": "plain", "pp": "pp", "pp again": "pp", "bounded": "bounded", "bound": "bound"}
    assert "adversarial" not in training_settings(config, {"rr": 0.3})
    assert training_settings(config, config["detectors"]["bound"])["adversarial"]["max_norm"] == 3.0
    config["encoders"]["tiny"]["trainable"] = "classifier"
    assert "token_budget" in training_settings(config, config["detectors"]["pp"])
    assert "token_budget" not in training_settings(config, {})
