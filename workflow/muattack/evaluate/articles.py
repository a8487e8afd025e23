"""Texts without a single article, by source: the statistic behind RR-training (paper, Section 5.1)."""

import numpy as np
import pandas as pd

from muattack.evaluate.intervals import clustered_shares
from muattack.evaluate.published import MISSING_ARTICLES
from muattack.words import WORD

ARTICLES = ("a", "an", "the")
SOURCES = ("human", "machine", "machine_ood")


def lacks_article(text: str) -> bool:
    """Tell whether no word of the text is an article, whatever its case; an article is a whole word."""
    return all(match.group().lower() not in ARTICLES for match in WORD.finditer(text))


def count_missing_articles(captions: pd.DataFrame, confidence: float = 0.95) -> pd.DataFrame:
    """Count the texts without an article of each source, over all splits.

    Returns source, n, images, without, share, low, high, published (shares, not per cent); the interval allows for the
    captions of one image being alike.
    """
    sources = [name for name in SOURCES if (captions.source == name).any()]
    group = pd.Categorical(captions.source, categories=sources)
    missing = np.fromiter((lacks_article(text) for text in captions.text), bool, len(captions))
    images = pd.factorize(captions.image_id, sort=True)[0]
    shares = clustered_shares(missing, group.codes, len(sources), images, confidence)
    return pd.DataFrame(
        {
            "source": sources,
            "n": shares["n"],
            "images": shares["images"],
            "without": np.bincount(group.codes, weights=missing, minlength=len(sources)).astype(int),
            "share": shares["share"],
            "low": shares["low"],
            "high": shares["high"],
            "published": [MISSING_ARTICLES.get(name) for name in sources],
        }
    )
