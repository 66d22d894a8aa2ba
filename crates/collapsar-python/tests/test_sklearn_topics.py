"""scikit-learn's tests of LatentDirichletAllocation."""

from peer import run_on_ours

DIFFERS = {
    r"test_lda_partial_fit_multi_jobs.*": "two batches, and priors are lowered over thirty",
    r"test_lda_preplexity_mismatch": "calls the private _perplexity_precomp_distr",
    r"test_verbosity\[.*-True-.*": "expects three steps of three, where ours converges in one",
}

run_on_ours(
    "sklearn.decomposition.tests.test_online_lda", globals(), "LatentDirichletAllocation"
)
