"""A sweep on a local Dask cluster and a local Ray: the same bits, stored as they come."""

from sweep_worlds import overlaps, play
from test_clusters import by_value, client, executor, pytestmark, ray  # noqa: F401 - fixtures and marks


def test_a_sweep_on_a_cluster(executor, tmp_path):  # noqa: F811 - the fixture
    whole = play(None, 12)
    assert play(None, 12, executor=executor) == whole
    play(tmp_path / "store", 5, executor=executor)
    larger = play(tmp_path / "store", 12, executor=executor)
    assert larger == whole
    assert larger.n_stored == 3 * 6 * 5
    assert not overlaps(tmp_path / "store")
