import numpy as np
import pytest
from scipy.stats import binomtest

from muattack.evaluate.intervals import clustered_shares, percentile_interval, resample_images, wilson


def test_resamples_are_whole_images_and_depend_on_the_set_and_seed_alone():
    a = resample_images(["b", "a", "c", "a"], 50, seed=1)
    b = resample_images(["c", "b", "a"], 50, seed=1)
    assert list(a.images) == ["a", "b", "c"]
    assert (a.counts == b.counts).all()
    assert (a.counts.sum(axis=0) == 3).all()
    assert a.counts.std() > 0.5
    assert (a.counts != resample_images(["a", "b", "c"], 50, seed=2).counts).any()


def test_totals_count_drawn_texts():
    drawn = resample_images(["a", "b"], 20, seed=1)
    positions = drawn.positions(["a", "a", "b"])
    assert (drawn.totals(positions) == 2 * drawn.counts[0] + drawn.counts[1]).all()
    assert (drawn.totals(positions, np.array([True, False, True])) == drawn.counts[0] + drawn.counts[1]).all()


def test_percentiles_leave_out_empty_resamples_and_hold_the_estimate():
    values = np.array([np.nan, *np.linspace(0, 1, 101)])
    assert percentile_interval(values, 0.5, 0.9) == pytest.approx((0.05, 0.95))
    assert percentile_interval(values, 0.99, 0.9) == pytest.approx((0.05, 0.99))
    assert percentile_interval(values, 0.01, 0.9) == pytest.approx((0.01, 0.95))
    assert np.isnan(percentile_interval(np.array([np.nan]), 0.5, 0.9)).all()


def test_wilson_equals_scipy():
    for hits, n in ((0, 10), (3, 10), (10, 10), (5, 9875)):
        expected = binomtest(hits, n).proportion_ci(0.95, method="wilson")
        assert np.array(wilson(hits / n, n, 0.95)) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_bootstrap_interval_covers_the_truth_about_as_often_as_it_says():
    """The mean of 60 independent images: coverage of the 90 % interval over 300 data sets (standard error 1.7 points)."""
    rng = np.random.default_rng(5)
    covered = 0
    for trial in range(300):
        drawn = resample_images([f"{i:02d}" for i in range(60)], 200, seed=trial)
        values = rng.normal(0, 1, 60)
        low, high = percentile_interval(values @ drawn.counts / 60, values.mean(), 0.9)
        covered += low <= 0 <= high
    assert 0.83 <= covered / 300 <= 0.95


def test_shares_of_independent_texts_get_wilsons_interval_and_copies_widen_it():
    hit = np.array([1, 0, 0, 1, 0, 0, 0, 0, 1, 0])
    single = clustered_shares(hit, np.zeros(10), 1, np.arange(10), 0.95)
    assert single["share"][0] == 0.3
    # The variance between images carries n/(n-1); with it the design effect is 10/9.
    assert (single["low"][0], single["high"][0]) == pytest.approx(tuple(map(float, wilson(0.3, 9, 0.95))))
    copies = clustered_shares(np.repeat(hit, 5), np.zeros(50), 1, np.repeat(np.arange(10), 5), 0.95)
    assert copies["n"][0] == 50
    assert copies["images"][0] == 10
    assert (copies["low"][0], copies["high"][0]) == pytest.approx((single["low"][0], single["high"][0]))


def test_shares_by_group_with_all_none_and_no_text():
    shares = clustered_shares([1, 1, 1, 0, 0], [0, 0, 0, 2, 2], 3, [1, 1, 2, 1, 2], 0.95)
    assert list(shares["n"]) == [3, 0, 2]
    assert shares["share"][0] == 1
    assert np.isnan(shares["share"][1])
    assert np.isnan(shares["low"][1])
    # Two images, all hit: as two independent trials.
    assert shares["low"][0] == pytest.approx(float(wilson(1, 2, 0.95)[0]))
    assert shares["high"][0] == 1
    assert shares["low"][2] == 0
