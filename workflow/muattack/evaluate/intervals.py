"""Intervals that respect images: resamples of whole images, percentiles, and shares of clustered texts.

The five captions of an image say the same thing, so texts are no independent observations; images are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from muattack.seeds import digest


@dataclass(frozen=True)
class Resamples:
    """Bootstrap resamples of images, shared by every detector and task of a run.

    `images` is sorted; `counts[i, b]` (float64, images x resamples) says how often resample b drew image i. Counts are whole
    numbers, so sums of them are exact in any order and on any machine.
    """

    images: np.ndarray
    counts: np.ndarray

    def positions(self, image_ids: Sequence[str]) -> np.ndarray:
        """Return the row of `counts` for each image id."""
        return np.searchsorted(self.images, np.asarray(image_ids, dtype=object))

    def totals(self, positions: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """Return for each resample how many of the texts at these image positions it holds (those of the mask only)."""
        return np.bincount(positions, weights=mask, minlength=len(self.images)).astype(float) @ self.counts


def resample_images(image_ids: Sequence[str], resamples: int, seed: int) -> Resamples:
    """Draw images with replacement, as many as there are, `resamples` times.

    The draws depend on the seed and on the set of images alone, not on the order of the rows.
    """
    images = np.array(sorted(set(map(str, image_ids))), dtype=object)
    draws = np.random.Generator(np.random.PCG64(digest(seed, "bootstrap over images"))).integers(len(images), size=(resamples, len(images)))
    counts = np.zeros((len(images), resamples))
    np.add.at(counts, (draws.ravel(), np.repeat(np.arange(resamples), len(images))), 1.0)
    return Resamples(images, counts)


def percentile_interval(values: np.ndarray, estimate: float, confidence: float) -> tuple[float, float]:
    """Return the percentile interval of resampled values, widened to hold the estimate.

    NaN values (resamples in which a class is empty) are left out; (nan, nan) when none is left. In small samples the
    percentiles may both lie on one side of the estimate; the bound on that side is then the estimate itself.
    """
    values = values[~np.isnan(values)]
    if not len(values) or np.isnan(estimate):
        return np.nan, np.nan
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return min(float(low), estimate), max(float(high), estimate)


def wilson(share: np.ndarray, n: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's score interval of a share observed on n independent trials (n may be fractional); NaN where n is 0."""
    share, n = np.asarray(share, float), np.asarray(n, float)
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (share + z2 / (2 * n)) / (1 + z2 / n)
        half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # Rounding must not push the interval off the estimate at 0 and 1.
    return np.minimum(np.clip(centre - half, 0, 1), share), np.maximum(np.clip(centre + half, 0, 1), share)


def clustered_shares(hit: np.ndarray, group: np.ndarray, groups: int, image: np.ndarray, confidence: float) -> dict[str, np.ndarray]:
    """Return each group's share of hits with an interval that allows for texts of one image being alike.

    `hit` (bool), `group` (0 … groups-1) and `image` (whole numbers) are one entry a text. Returned arrays have one entry a
    group: n, images, share, low, high (NaN where n is 0). The interval is Wilson's at the effective number of texts,
    n / design effect, the design effect being the variance between images (linearised, as for cluster samples) over that
    of independent texts, at least 1. Where all or none of a group hit, the variance says nothing and every image counts
    once, the most cautious choice.
    """
    hit, group, image = np.asarray(hit, float), np.asarray(group, np.int64), np.asarray(image, np.int64)
    n = np.bincount(group, minlength=groups).astype(float)
    hits = np.bincount(group, weights=hit, minlength=groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = hits / n
        # One cell for each image that a group has texts of.
        cells, cell = np.unique(group * (image.max(initial=0) + 1) + image, return_inverse=True)
        owner = cells // (image.max(initial=0) + 1)
        images = np.bincount(owner, minlength=groups).astype(float)
        residual = np.bincount(cell, weights=hit - share[group], minlength=len(cells))
        between = np.bincount(owner, weights=residual**2, minlength=groups) * images / (images - 1) / n**2
        design = between / (share * (1 - share) / n)
        mixed = (hits > 0) & (hits < n) & (images > 1)
        effective = np.where(mixed, n / np.maximum(design, 1), images)
    low, high = wilson(share, effective, confidence)
    return {"n": n.astype(int), "images": images.astype(int), "share": share, "low": low, "high": high}
