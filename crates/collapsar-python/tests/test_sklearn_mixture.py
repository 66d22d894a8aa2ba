"""scikit-learn's tests of BayesianGaussianMixture."""

from peer import run_on_ours

DIFFERS = {
    "test_compare_covar_type": "calls the private _check_parameters and _initialize_parameters",
}

run_on_ours("sklearn.mixture.tests.test_bayesian_mixture", globals(), "BayesianGaussianMixture")
