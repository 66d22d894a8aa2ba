"""scikit-learn's tests of LatentDirichletAllocation."""

from peer import run_on_ours

DIFFERS = {
    r"test_verbosity\[.*-True-.*": "expects three steps, where ours is stationary to working precision after two",
}

run_on_ours(
    "sklearn.decomposition.tests.test_online_lda", globals(), "LatentDirichletAllocation"
)
