"""Ten topics of newsgroups, by the words that each is about, as scikit-learn's page shows them.

The page downloads the texts; this reads the same newsgroups as a bag of words, in the format of the
UCI collection: FOLDER has docword.20ng.txt.gz and vocab.20ng.txt.gz.

    python plot_topics_extraction.py FOLDER OUT.png
"""

import gzip
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix
from shared import save
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

DOCUMENTS, WORDS, TOPICS, SHOWN = 2000, 1000, 10, 10


def data(folder):
    """2000 documents, their 1000 commonest words that are in two and in less than 95% of them."""
    with gzip.open(folder / "vocab.20ng.txt.gz", "rt") as lines:
        vocabulary = np.array(lines.read().split())
    with gzip.open(folder / "docword.20ng.txt.gz", "rt") as lines:
        documents, words = int(next(lines)), int(next(lines))
        next(lines)
        document, word, count = np.loadtxt(lines, dtype=int).T
    X = csr_matrix((count, (document - 1, word - 1)), shape=(documents, words))
    # Documents are in the order of their groups.
    X = X[np.random.RandomState(1).choice(documents, DOCUMENTS, replace=False)]
    in_documents = np.asarray((X > 0).sum(axis=0)).ravel()
    known = (in_documents >= 2) & (in_documents <= 0.95 * DOCUMENTS)
    known &= ~np.isin(vocabulary, list(ENGLISH_STOP_WORDS))
    total = np.where(known, np.asarray(X.sum(axis=0)).ravel(), -1)
    chosen = np.sort(np.argsort(-total, kind="stable")[:WORDS])
    return X[:, chosen], vocabulary[chosen]


def matched(components, others):
    """The order of `others` that puts each next to its likeness."""
    from scipy.optimize import linear_sum_assignment

    def unit(rows):
        shares = rows / rows.sum(axis=1, keepdims=True)
        return np.sqrt(shares)

    return linear_sum_assignment(-unit(components) @ unit(others).T)[1]


def main(folder, out):
    import pycollapsar
    from sklearn import decomposition as theirs

    X, vocabulary = data(Path(folder))
    settings = dict(n_components=TOPICS, random_state=0)
    page = dict(max_iter=5, learning_method="online", learning_offset=50.0)
    fits = {
        "scikit-learn": theirs.LatentDirichletAllocation(**settings, **page).fit(X),
        "scikit-learn, batch to its end": theirs.LatentDirichletAllocation(
            **settings, learning_method="batch", max_iter=500, evaluate_every=5, perp_tol=1e-4
        ).fit(X),
        "collapsar": pycollapsar.LatentDirichletAllocation(**settings, max_iter=500).fit(X),
    }
    first = fits["scikit-learn"].components_
    figure, axes = plt.subplots(len(fits), TOPICS, figsize=(15, 2.2 * len(fits)))
    for row, (name, lda) in zip(axes, fits.items()):
        print(f"{name}: bound {bound(lda, X):.0f}, perplexity {lda.perplexity(X):.1f}")
        components = lda.components_[matched(first, lda.components_)]
        for topic, (one, topic_axes) in enumerate(zip(components, row)):
            top = np.argsort(-one)[:SHOWN]
            topic_axes.barh(vocabulary[top], one[top], height=0.7)
            topic_axes.invert_yaxis()
            topic_axes.tick_params(axis="y", labelsize=7, pad=1, length=0)
            topic_axes.set_xticks([])
            for side in ("top", "right", "left", "bottom"):
                topic_axes.spines[side].set_visible(False)
        row[0].set_title(name, fontsize=9, loc="left")
    save(figure, out)


def bound(lda, X):
    """The bound on ln p(words) that each class climbs: ours is collapsed, and not below theirs."""
    return lda.log_evidence_ if hasattr(lda, "log_evidence_") else lda.score(X)


if __name__ == "__main__":
    main(*sys.argv[1:])
