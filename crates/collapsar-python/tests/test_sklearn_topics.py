"""scikit-learn's tests of LatentDirichletAllocation."""

from peer import run_on_ours

DIFFERS: dict[str, str] = {
    "test_lda_partial_fit": "no partial_fit: the collapsed bound is one of all documents",
    "test_lda_partial_fit_multi_jobs": "no partial_fit, as above",
    "test_lda_preplexity_mismatch": "calls the private _perplexity_precomp_distr",
}

run_on_ours(
    "sklearn.decomposition.tests.test_online_lda", globals(), "LatentDirichletAllocation", DIFFERS
)
