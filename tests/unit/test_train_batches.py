"""Batches by token budget and padding."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muattack.train.batches import cut_by_budget, in_steps, pad, shuffled_batches


@given(st.lists(st.integers(1, 60), max_size=200), st.integers(20, 300), st.integers(0, 3))
def test_every_index_once_and_no_batch_over_budget(lengths, budget, seed):
    batches = shuffled_batches(lengths, budget, np.random.default_rng(seed))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert batch
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= budget


def test_batches_hold_little_padding_and_differ_between_epochs():
    random = np.random.default_rng(0)
    lengths = random.integers(8, 30, 4000).tolist()
    first, second = (shuffled_batches(lengths, 2048, random) for _ in range(2))
    padded = sum(len(batch) * max(lengths[index] for index in batch) for batch in first)
    assert padded < 1.1 * sum(lengths)
    assert {tuple(sorted(batch)) for batch in first} != {tuple(sorted(batch)) for batch in second}
    # The order of batches says nothing about their texts' length.
    longest = [max(lengths[index] for index in batch) for batch in first]
    assert abs(np.corrcoef(range(len(longest)), longest)[0, 1]) < 0.4


def test_cutting_keeps_the_order_and_long_texts():
    assert cut_by_budget([3, 0, 1, 2], [5, 5, 100, 4], 10) == [[3, 0], [1], [2]]
    assert cut_by_budget([], [], 10) == []


def test_padding_is_on_the_right_and_masked():
    ids, mask = pad([[5, 6], [7, 8, 9]], 1)
    assert ids.tolist() == [[5, 6, 1], [7, 8, 9]]
    assert mask.tolist() == [[1, 1, 0], [1, 1, 1]]
    assert pad([[5, 6]], 1, 4)[0].tolist() == [[5, 6, 1, 1]]


def test_a_step_takes_batches_until_it_has_its_texts():
    batches = [[0, 1, 2], [3], [4, 5], [6, 7, 8, 9], [10]]
    assert in_steps(batches, None) == [(batch, 1.0, 0, False) for batch in batches]
    planned = in_steps(batches, 4)
    assert [batch for batch, *_ in planned] == batches
    assert [rest for _, *rest in planned] == [[0.75, 0, True], [0.25, 1, False], [1 / 3, 0, True], [2 / 3, 1, False], [1.0, 0, False]]
    assert in_steps([], 4) == []
