"""Documents that workers in threads hold: the same bits for any number of them, and the same answers as in one process."""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import pycollapsar
from pycollapsar import LatentDirichletAllocation, distributed
from pycollapsar.distributed import Corpus, Local


def counts(documents=120, words=30, topics=3, length=40, seed=0):
    """Counts of documents that a topic model has drawn; one has no words."""
    rng = np.random.default_rng(seed)
    of_topics = rng.dirichlet(np.full(words, 0.1), topics)
    means = rng.dirichlet(np.full(topics, 0.2), documents) @ of_topics
    X = rng.multinomial(length, means)
    X[7] = 0
    return X


def bits(result):
    return result["messages"].tobytes(), result["alpha"].tobytes(), result["bound"], result["passes"]


def fitted(data, workers=1, topics=3, **options):
    return distributed.fit_topics(data, topics, engine=Local(workers), **options)


@pytest.mark.parametrize("priors", [{}, {"alpha": 0.1, "beta": 0.2, "sweeps": 2}])
def test_any_number_of_workers_gives_the_same_bits(priors):
    X = counts()
    data = Corpus([X[:50], sp.csr_matrix(X[50:])], chunk_rows=8)
    for start in ("annealed", "documents", "random"):
        alone = fitted(data, start=start, seed=3, **priors)
        assert alone["converged"]
        for workers in (2, 4, 40):
            assert bits(fitted(data, workers, start=start, seed=3, **priors)) == bits(alone)


def test_a_fit_is_that_of_one_process():
    X = counts()
    how = {"n_components": 3, "doc_topic_prior": 0.5, "topic_word_prior": 0.3, "init": "random"}
    # The same random numbers, so that both climb from the same start.
    near = LatentDirichletAllocation(**how, max_iter=500, tol=1e-7, random_state=4).fit(X)
    far = LatentDirichletAllocation(**how, max_iter=500, tol=1e-7, random_state=4)
    assert far.fit(Corpus(X, chunk_rows=16), engine=Local(3)) is far
    assert far.log_evidence_ == pytest.approx(near.log_evidence_, rel=1e-9)
    assert np.allclose(far.components_, near.components_, rtol=1e-3, atol=1e-3)
    assert np.allclose(far.transform(X), near.transform(X), atol=1e-3)
    assert far.perplexity(X) == pytest.approx(near.perplexity(X), rel=1e-6)
    assert far.n_features_in_ == 30 and far.proportions_.shape == (0, 3)


def written(folder, X, name):
    """The same counts in each of the formats of files."""
    rows = [[(word, n) for word, n in enumerate(row) if n] for row in X]
    with open(folder / f"{name}.ldac", "w") as file:
        for row in rows:
            file.write(" ".join([str(len(row)), *(f"{word}:{n}" for word, n in row)]) + "\n")
    with open(folder / f"{name}.svm", "w") as file:
        for row in rows:
            file.write(" ".join(["0", *(f"{word + 1}:{n}" for word, n in row)]) + "\n")
    entries = [(d + 1, word + 1, n) for d, row in enumerate(rows) for word, n in row]
    lines = "".join(f"{d} {word} {n}\n" for d, word, n in entries)
    head = f"{len(X)}\n{X.shape[1]}\n{len(entries)}\n"
    (folder / f"docword.{name}.txt").write_text(head + lines)
    market = "%%MatrixMarket matrix coordinate integer general\n"
    (folder / f"{name}.mtx").write_text(f"{market}{len(X)} {X.shape[1]} {len(entries)}\n{lines}")


def test_files_of_counts_are_as_the_matrices(tmp_path):
    X = counts()
    parts = {"a": X[:70], "b": X[70:]}
    expected = bits(fitted(Corpus(list(parts.values()), chunk_rows=16), alpha=0.1))
    words = tmp_path / "words.txt"
    words.write_text("".join(f"word{n}\n" for n in range(30)))
    for name, part in parts.items():
        written(tmp_path, part, name)
    for pattern in ("{}.ldac", "{}.svm", "docword.{}.txt", "{}.mtx"):
        files = [tmp_path / pattern.format(name) for name in parts]
        given = fitted(Corpus(files, vocabulary=words, chunk_rows=16), 3, alpha=0.1)
        assert bits(given) == expected
        assert given["vocabulary"][29] == "word29"
    # Where the words have no names, there are as many as the files know.
    found = fitted(Corpus([tmp_path / "docword.a.txt", tmp_path / "docword.b.txt"], chunk_rows=16), alpha=0.1)
    assert bits(found) == expected and found["vocabulary"][0] == "1"


def test_texts_in_files_have_the_vocabulary_of_one_corpus(tmp_path):
    lines = [" ".join(f"w{word}" for word in np.repeat(np.arange(30), row)) for row in counts()]
    (tmp_path / "all.txt").write_text("\n".join(lines))
    (tmp_path / "a.txt").write_text("\n".join(lines[:33]))
    (tmp_path / "b.txt").write_text("\n".join(lines[33:]))
    one = fitted(Corpus(tmp_path / "all.txt", min_docs=3, chunk_rows=11), alpha=0.1)
    two = fitted(Corpus([tmp_path / "a.txt", tmp_path / "b.txt"], min_docs=3, chunk_rows=11), 4, alpha=0.1)
    assert one["vocabulary"] == two["vocabulary"]
    assert bits(one) == bits(two)


def test_the_program_writes_what_other_commands_read(tmp_path):
    written(tmp_path, counts(), "a")
    out = tmp_path / "fit"
    program = [sys.executable, "-m", "pycollapsar.distributed", "topics", tmp_path / "a.ldac"]
    flags = ["--topics", "3", "--engine", "local", "--workers", "2", "--chunk-rows", "16", "--out", out]
    done = subprocess.run([*map(str, program), *map(str, flags)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # The last word is in no document, which nothing but a file of words would tell.
    assert "3 topics of 120 documents and 29 words; 2 workers" in done.stdout
    run = json.loads((out / "run.json").read_text())
    assert run["corpus"]["documents"] == 120 and run["corpus"]["without_words"] == 1
    assert run["fingerprint"].startswith("3 topics on 120 documents of 29 words")
    topics = json.loads((out / "topics.json").read_text())
    assert [topics["documents"], topics["topics"], len(topics["words"])] == [120, 3, 29]
    assert (out / "topics.csv").read_text().startswith("topic,word,rank,probability,relevance")


def test_a_climb_goes_on_from_a_folder_of_checkpoints(tmp_path):
    data = Corpus(counts(), chunk_rows=16)
    stopped = fitted(data, 2, max_iter=5, checkpoint=tmp_path, checkpoint_every=1)
    again = [fitted(data, workers, resume=tmp_path) for workers in (1, 3)]
    assert bits(again[0]) == bits(again[1])
    assert again[0]["converged"] and again[0]["bound"] > stopped["bound"]


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"posterior": "exact"}, "posterior='exact' needs the documents in one process"),
        ({"learning_method": "online"}, "learning_method='online' needs the documents in one process"),
    ],
)
def test_what_needs_the_documents_is_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        LatentDirichletAllocation(2, **parameters).fit(counts(), engine="local")


def test_refusals_name_file_and_document(tmp_path):
    X = counts().astype(float)
    X[80, 3] = -1
    with pytest.raises(pycollapsar.DataError, match="matrix 2, document 31: word 3 with count -1"):
        fitted(Corpus([X[:50], X[50:]], chunk_rows=16), 2)
    with pytest.raises(ValueError, match="matrix 2 has 29 words, expected 30 as matrix 1 has"):
        fitted([X, X[:, 1:]])
    with pytest.raises(pycollapsar.CollapsarError, match="nowhere.mtx"):
        fitted([tmp_path / "nowhere.mtx"])
    with pytest.raises(ValueError, match="no file in this folder"):
        fitted(tmp_path)
    with pytest.raises(pycollapsar.DataError, match="no words, expected at least one document"):
        fitted(np.zeros((3, 4)))
    with pytest.raises(pycollapsar.CollapsarError, match="n_components is 0, expected at least 1"):
        fitted(counts(), topics=0)
    written(tmp_path, counts(), "a")
    (tmp_path / "text.txt").write_text("some words\nand others\n")
    with pytest.raises(pycollapsar.DataError, match="text.txt: not of the kind"):
        fitted([tmp_path / "a.ldac", tmp_path / "text.txt"])


def test_workers_forget_what_no_point_refers_to():
    engine = Local(2)
    distributed.fit_topics(Corpus(counts(), chunk_rows=16), 3, engine=engine)
    assert all(holder.worker.passes <= 6 for holder in engine._holders)
