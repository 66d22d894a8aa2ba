"""The map of topics of a page beside pyLDAvis of the same fit: the same coordinates up to reflection, the same terms.

maps.py PROGRAM [FOLDER]: of a corpus that is made here, or of the fit in a folder.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np

warnings.filterwarnings("ignore")
import pyLDAvis  # noqa: E402
import pyLDAvis._prepare  # noqa: E402

TOPICS, WORDS, DOCUMENTS, TERMS = 8, 400, 300, 30


def fit(program, folder):
    """Topics of documents that are drawn from topics."""
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(WORDS, 0.05), TOPICS)
    lines = []
    for document in range(DOCUMENTS):
        words = rng.multinomial(rng.integers(60, 200), rng.dirichlet(np.full(TOPICS, 0.2)) @ topics)
        lines += [f"{document + 1} {word + 1} {words[word]}" for word in np.flatnonzero(words)]
    (folder / "docword.x.txt").write_text("\n".join([str(DOCUMENTS), str(WORDS), str(len(lines)), *lines]) + "\n")
    (folder / "vocab.x.txt").write_text("".join(f"word{i}\n" for i in range(WORDS)))
    words = [program, "--quiet", "topics", "docword.x.txt", "--topics", str(TOPICS), "--out", "fit"]
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "fit"


def page(program, run):
    """What the page holds as data."""
    target = run / "report.html"
    subprocess.run([program, "--quiet", "report", run], check=True)
    return json.loads(re.search(r'id="data">(.*?)</script>', target.read_text(), re.DOTALL)[1])


def saved(run):
    """p(word | topic) and expected tokens of topics, from topics.json."""
    fit = json.loads((run / "topics.json").read_text())
    counts = np.zeros((len(fit["words"]), fit["topics"]))
    for row, (_, pairs) in enumerate(fit["words"]):
        for topic, count in pairs:
            counts[row, topic] = count
    words = [word for word, _ in fit["words"]]
    # Means over draws are of what is counted; others add the prior.
    smoothed = counts + fit["beta"]
    return words, (smoothed / smoothed.sum(axis=0)).T, counts


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as made:
        run = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else fit(program, pathlib.Path(made))
        data = page(program, run)
        words, probabilities, counts = saved(run)
    ours = np.array([[v["x"], v["y"]] for v in data["charts"]["map"]["spec"]["data"]["values"]])
    tokens, frequency = counts.sum(axis=0), counts.sum(axis=1)
    theirs = np.asarray(pyLDAvis._prepare.js_PCoA(probabilities))
    # Principal coordinates are known up to the signs of axes: the same distances, and the same points after a reflection.
    signs = np.sign((ours * theirs).sum(axis=0))
    worst = np.abs(ours * signs - theirs).max() / np.abs(theirs).max()
    print(f"{len(ours)} topics: coordinates differ by {worst:.1e} of the largest after reflection")
    assert worst < 1e-4, "coordinates are not those of pyLDAvis"
    topics, overlaps = data["topics"], []
    for step in (0.0, 0.6, 1.0):
        alike = 0
        for topic in range(len(ours)):
            scored = [
                (np.log(p) - (1 - step) * np.log(topics["counts"][word] / topics["total"]), topics["words"][word])
                for word, p in topics["terms"][topic]
            ]
            own = [word for _, word in sorted(scored, reverse=True)[:TERMS]]
            # As pyLDAvis has it: lambda log p(w|t) + (1 - lambda) log(p(w|t) / p(w)).
            lift = np.log(probabilities[topic]) - np.log(frequency / frequency.sum())
            relevance = step * np.log(probabilities[topic]) + (1 - step) * lift
            relevance[frequency <= 0] = -np.inf
            peer = [words[w] for w in np.argsort(-relevance, kind="stable")[:TERMS]]
            alike += len(set(own) & set(peer))
        overlaps.append(alike / (TERMS * len(ours)))
        print(f"lambda {step}: {overlaps[-1]:.1%} of the first {TERMS} terms are the same")
    assert min(overlaps) > 0.99, "terms are not those of pyLDAvis"
    prepared(words, probabilities, counts, data)


def prepared(words, probabilities, counts, data):
    """The terms that pyLDAvis itself prepares, at its steps of lambda; it counts topics from the largest."""
    tokens = counts.sum(axis=0)
    documents = np.eye(len(tokens))
    whole = pyLDAvis.prepare(
        probabilities, documents, tokens, words, counts.sum(axis=1), R=TERMS, lambda_step=0.2, sort_topics=False, n_jobs=1
    )
    # Proportions of topics differ from ours by nothing but rounding.
    theirs = whole.topic_coordinates.sort_values("topics")["Freq"].to_numpy() / 100
    ours = np.array([v["share"] for v in data["charts"]["map"]["spec"]["data"]["values"]])
    assert np.abs(theirs - ours).max() < 1e-4, "shares are not those of pyLDAvis"
    table = whole.topic_info
    missing = 0
    for topic in range(len(tokens)):
        theirs = set(table[table.Category == f"Topic{topic + 1}"].Term)
        ours = {data["topics"]["words"][word] for word, _ in data["topics"]["terms"][topic]}
        missing += len(theirs - ours)
    print(f"terms that pyLDAvis prepares and the page has not: {missing}")
    assert missing <= 0.01 * TERMS * len(tokens), "the page lacks terms of pyLDAvis"


main()
