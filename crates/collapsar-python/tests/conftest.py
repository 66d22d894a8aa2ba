"""Fixtures that scikit-learn's test files expect of its own conftest."""

import numpy as np
import pytest


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request):
    return request.param


@pytest.fixture
def global_random_seed():
    return 42
