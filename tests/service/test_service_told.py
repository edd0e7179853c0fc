"""The log of a campaign names items by label whatever has happened to them since they were asked for."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.service import verify_campaign
from service_kit import serving
from told_books import ITEMS, Books, matroid


class Campaign:
    """A campaign by way of its client."""

    takes_numbers = False  # a server knows no numbers but those of today

    def __init__(self, client, seed):
        self.client = client
        self.client.create(matroid(ITEMS[:6]), mb.OMM(), seed=seed, holdout=0.3)

    def __getattr__(self, name):
        return getattr(self.client, name)

    def change(self, constraint, forget):
        self.client.change(constraint, forget=forget)

    def events(self):
        found = []
        while page := self.client.events(after=len(found), limit=1000):
            found += page
        return found


@pytest.mark.parametrize("seed", range(3))
def test_log_frame_and_books_agree(seed, tmp_path):
    with (
        serving(f"sqlite:///{tmp_path / 'campaigns.db'}", snapshot_every=50) as http,
        mb.Client(str(http.base_url), "told") as client,
    ):
        books = Books(Campaign(client, seed), np.random.default_rng(seed))
        for _ in range(100):
            books.step()
        events = books.subject.events()
        assert books.n_refused > 50
        found = verify_campaign(http.service.database, "told")
        assert found.n_decisions == len(books.asked)
    books.check(events)
