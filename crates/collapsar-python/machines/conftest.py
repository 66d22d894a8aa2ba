"""One cluster of Ray for all tests that need it: two nodes on loopback."""

import os

# A cluster of several nodes on loopback, which Ray has on other systems only.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"

import pytest

from shared import NODE

#: A node that is gone is missed within six seconds, and not fifteen; sooner would take one for gone that is only slow, as
#: all nodes share a machine that may be busy.
QUICK = {
    "health_check_initial_delay_ms": 3000,
    "health_check_period_ms": 1000,
    "health_check_failure_threshold": 6,
}


@pytest.fixture(scope="session")
def cluster():
    import ray
    from ray.cluster_utils import Cluster

    head = {**NODE, "_system_config": QUICK}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(**NODE)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()
