"""LatentDirichletAllocation beyond scikit-learn's own tests."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gammaln, psi
from sklearn.decomposition import LatentDirichletAllocation as Theirs
from sklearn.utils.estimator_checks import parametrize_with_checks

from pycollapsar import LatentDirichletAllocation


@parametrize_with_checks([LatentDirichletAllocation(max_iter=20)])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def documents():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(30, 0.1), 3)
    shares = rng.dirichlet(np.full(3, 0.3), 60)
    return rng.multinomial(80, shares @ topics)


def test_one_topic_gives_the_evidence(documents):
    lda = LatentDirichletAllocation(1, topic_word_prior=0.2, random_state=0).fit(documents)
    words = documents.sum(axis=0)
    evidence = (
        gammaln(30 * 0.2)
        - gammaln(30 * 0.2 + words.sum())
        + (gammaln(0.2 + words) - gammaln(0.2)).sum()
    )
    assert lda.log_evidence_ == pytest.approx(evidence, rel=1e-10)
    np.testing.assert_allclose(lda.components_, 0.2 + words[None, :], rtol=1e-6)


def test_sparse_is_dense(documents):
    settings = dict(n_components=3, random_state=0)
    dense = LatentDirichletAllocation(**settings).fit(documents)
    for X in (sp.csr_matrix(documents), sp.csc_array(documents), sp.coo_matrix(documents)):
        thin = LatentDirichletAllocation(**settings).fit(X)
        assert thin.log_evidence_ == dense.log_evidence_
        np.testing.assert_array_equal(thin.transform(X), dense.transform(documents))


def test_wide_sparse_matrices_stay_sparse():
    # Dense, it would be 80 gigabytes.
    rng = np.random.default_rng(0)
    rows, columns = np.repeat(np.arange(10_000), 20), rng.integers(0, 1_000_000, 200_000)
    X = sp.csr_matrix((np.ones(200_000), (rows, columns)), shape=(10_000, 1_000_000))
    lda = LatentDirichletAllocation(2, max_iter=1, init="random", random_state=0).fit(X)
    assert lda.transform(X[:5]).shape == (5, 2)


def test_attributes_and_completion_are_as_good_as_scikit_learns(documents):
    ours = LatentDirichletAllocation(3, random_state=0, n_init=3).fit(documents)
    theirs = Theirs(3, random_state=0, max_iter=200).fit(documents)
    public = {name for name in vars(theirs) if name.endswith("_")}
    assert public <= set(vars(ours))
    half = documents // 2
    rest = documents - half
    # Theirs through the same formula: the predictive probability of each later token.
    shares = theirs.transform(half)
    topics = theirs.components_ / theirs.components_.sum(axis=1, keepdims=True)
    ln_p = (rest * np.log(shares @ topics)).sum()
    assert ours.completion_perplexity(half, rest) < 1.02 * np.exp(-ln_p / rest.sum())


def test_priors_can_be_learned_or_given(documents):
    plain = LatentDirichletAllocation(3, random_state=0, max_iter=500).fit(documents)
    learned = LatentDirichletAllocation(
        3, doc_topic_prior="learn", topic_word_prior="learn", random_state=0, max_iter=500
    ).fit(documents)
    assert learned.log_evidence_ > plain.log_evidence_
    assert learned.doc_topic_prior_.shape == (3,)
    given = LatentDirichletAllocation(3, doc_topic_prior=[0.1, 0.2, 0.3], random_state=0)
    np.testing.assert_array_equal(given.fit(documents).doc_topic_prior_, [0.1, 0.2, 0.3])


def test_words_and_quality(documents):
    lda = LatentDirichletAllocation(3, random_state=0).fit(documents)
    names = [f"w{i}" for i in range(30)]
    top = lda.top_words(5, feature_names=names)
    best = lda.components_.argmax(axis=1)
    assert [words[0][0] for words in top] == [names[i] for i in best]
    quality = lda.quality(documents, 5)
    assert -1 <= quality["npmi"] <= 1 and 0 < quality["diversity"] <= 1
    assert quality["topics"]["tokens"].sum() == pytest.approx(documents.sum(), rel=1e-9)
    with pytest.raises(ValueError, match="relevance"):
        lda.top_words(5, relevance=2.0)


def test_copies_are_the_same(documents):
    lda = LatentDirichletAllocation(3, random_state=0).fit(documents)
    copy = pickle.loads(pickle.dumps(lda))
    np.testing.assert_array_equal(copy.transform(documents), lda.transform(documents))


def test_frames_go_in_and_come_out(documents):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(documents, columns=[f"w{i}" for i in range(30)])
    lda = LatentDirichletAllocation(3, random_state=0).set_output(transform="pandas")
    found = lda.fit_transform(frame)
    assert list(found.columns) == [f"latentdirichletallocation{i}" for i in range(3)]
    assert lda.top_words(1)[0][0][0].startswith("w")


def test_bad_input_is_refused(documents):
    with pytest.raises(ValueError, match="Negative values"):
        LatentDirichletAllocation(2).fit(-documents)
    lda = LatentDirichletAllocation(2).fit(documents)
    with pytest.raises(ValueError, match="features"):
        lda.transform(documents[:, :4])
    with pytest.raises(ValueError, match="alpha|doc_topic_prior|broadcast"):
        LatentDirichletAllocation(2, doc_topic_prior=[1.0, 2.0, 3.0]).fit(documents)


def test_limits_hold_and_checkpoints_go_on(documents, tmp_path):
    file = tmp_path / "run.ckpt"

    def fit(**more):
        return LatentDirichletAllocation(3, random_state=0, **more).fit(documents)

    whole = fit()
    assert whole.converged_ and not fit(max_seconds=0).converged_
    # The annealed start alone takes thirty.
    assert fit(max_passes=33, tol=0).n_passes_ <= 35
    assert fit(sweeps=1).log_evidence_ != whole.log_evidence_
    fit(max_iter=2, checkpoint=file)
    resumed = fit(resume=file)
    assert (resumed.log_evidence_, resumed.n_iter_) == (whole.log_evidence_, whole.n_iter_)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    with pytest.raises(ValueError, match="follow one climb"):
        fit(n_init=2, resume=file)


def test_exact_draws_and_their_mean(documents):
    settings = dict(n_components=3, random_state=0, doc_topic_prior=0.3, topic_word_prior=0.1)
    exact = dict(posterior="exact", n_chains=2, n_draws=50, n_warmup=20, keep_documents=True)
    lda = LatentDirichletAllocation(**settings, **exact).fit(documents)
    assert lda.posterior_ == "exact"
    assert lda.draws_["share"].shape == (2, 50, 3)
    assert lda.draws_["proportions"].shape == (2, 50, 60, 3)
    np.testing.assert_allclose(lda.draws_["proportions"].sum(axis=3), 1.0)
    np.testing.assert_allclose(lda.draws_["share"].mean(axis=(0, 1)), lda.share_)
    # The mean given the tokens' topics has no noise of its own, so that a hundred draws of it are near.
    np.testing.assert_allclose(
        lda.draws_["proportions"].mean(axis=(0, 1)), lda.proportions_, atol=0.1
    )
    again = LatentDirichletAllocation(**settings, **exact, n_jobs=1).fit(documents)
    np.testing.assert_array_equal(again.draws_["share"], lda.draws_["share"])
    # Most documents are about what most of their tokens are about.
    same = lda.transform(documents).argmax(axis=1) == lda.proportions_.argmax(axis=1)
    assert same.mean() > 0.9


def test_linear_response_is_wider_than_mean_field(documents):
    settings = dict(n_components=3, random_state=0)
    plain = LatentDirichletAllocation(**settings, posterior="mean-field").fit(documents)
    wide = LatentDirichletAllocation(**settings).fit(documents)
    assert (plain.posterior_, wide.posterior_) == ("mean-field", "linear-response")
    assert (wide.proportions_sd_ > plain.proportions_sd_).all()
    assert (wide.share_sd_ > plain.share_sd_).all()
    np.testing.assert_array_equal(wide.proportions_, plain.proportions_)
    assert wide.draws_ is None and wide.signs_["verdict"] in ("trust", "trust-means", "doubt")


def test_batches_are_learned_from_one_after_another(documents):
    options = {"n_components": 3, "total_samples": 60, "random_state": 0}
    whole = LatentDirichletAllocation(batch_size=20, **options).partial_fit(documents)
    parts = LatentDirichletAllocation(batch_size=20, **options)
    for first in (0, 20, 40):
        parts.partial_fit(sp.csr_matrix(documents[first : first + 20]))
    np.testing.assert_allclose(parts.components_, whole.components_, rtol=1e-9)
    assert (whole.n_batch_iter_, whole.n_iter_, parts.n_iter_) == (4, 1, 3)
    assert whole.share_.sum() == pytest.approx(1.0)
    # What was learned from stays when it is pickled.
    again = pickle.loads(pickle.dumps(parts)).partial_fit(documents[:20])
    np.testing.assert_array_equal(again.components_, parts.partial_fit(documents[:20]).components_)


def test_online_passes_come_near_the_climb(documents):
    options = {"n_components": 3, "doc_topic_prior": 0.3, "topic_word_prior": 0.1}
    climbed = LatentDirichletAllocation(random_state=0, n_init=3, **options).fit(documents)
    options |= {"learning_method": "online", "batch_size": 10, "perp_tol": 1e-3}
    online = LatentDirichletAllocation(random_state=0, **options).fit(documents)
    assert online.converged_ and online.n_iter_ == len(online.trace_["perplexity"]) < 100
    assert online.perplexity(documents) < 1.02 * climbed.perplexity(documents)
    assert online.transform(documents).shape == online.proportions_.shape == (60, 3)
    assert online.signs_["verdict"] is None and np.isnan(online.log_evidence_)


def test_online_refuses_what_takes_all_documents(documents):
    lda = LatentDirichletAllocation(2, doc_topic_prior="learn", learning_method="online")
    with pytest.raises(ValueError, match="doc_topic_prior is 'learn'"):
        lda.fit(documents)
    with pytest.raises(ValueError, match="30 features"):
        LatentDirichletAllocation(2).partial_fit(documents).partial_fit(documents[:, :5])


def test_perplexity_at_given_posteriors_is_that_of_scikit_learn():
    peer = Theirs(3, random_state=0, max_iter=3)
    rng = np.random.default_rng(4)
    counts = sp.csr_matrix(rng.poisson(0.7, (40, 25)))
    peer.fit(counts)
    ours = LatentDirichletAllocation(3, random_state=0, max_iter=3, total_samples=500).fit(counts)
    peer.components_, peer.total_samples = ours.components_, 500
    of = rng.gamma(2.0, 1.0, (40, 3))
    for sub_sampling in (False, True):
        expected = peer._perplexity_precomp_distr(counts, of, sub_sampling)
        found = ours._perplexity_precomp_distr(counts, of, sub_sampling)
        # Sums in another order.
        assert found == pytest.approx(expected, rel=1e-9)
    own = ours._perplexity_precomp_distr(counts, ours.transform(counts, normalize=False))
    assert ours._perplexity_precomp_distr(counts) == pytest.approx(own, rel=1e-12)
    assert own > ours.perplexity(counts)
    np.testing.assert_allclose(
        ours.exp_dirichlet_component_,
        np.exp(peer_expectation(ours.components_)),
        rtol=1e-12,
    )


def peer_expectation(posterior):
    return psi(posterior) - psi(posterior.sum(axis=1, keepdims=True))


def test_two_batches_find_what_documents_differ_in():
    blocks = np.kron(np.eye(3, dtype=int), np.full((3, 3), 3))
    for seed in range(20):
        lda = LatentDirichletAllocation(3, learning_offset=5.0, total_samples=30, random_state=seed)
        lda.partial_fit(blocks).partial_fit(blocks)
        tops = sorted(tuple(sorted(topic.argsort()[-3:].tolist())) for topic in lda.components_)
        assert tops == [(0, 1, 2), (3, 4, 5), (6, 7, 8)], seed
