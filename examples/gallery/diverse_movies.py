"""
Diverse movies
==============

A streaming service recommends a set of movies. The most watched ones are alike: a list
of hits is a list of action, science fiction and comedy. Ask instead that no movie's
genres follow from those of the others, which is independence of the genre vectors, and
choose the most popular set of that kind. Such sets are the bases of a linear matroid.

This is the third experiment of the paper. The data is the package's stand-in for
MovieLens: 100 movies with the titles, genres and figures that the paper prints.
"""

# %%
# The problem
# -----------
# Popularity is the share of people who have watched a movie. The best basis has one movie
# for each of the 17 dimensions that the genres span.

import matplotlib.pyplot as plt
import numpy as np

import matroid_bandits as mb
from matroid_bandits import datasets

movies = datasets.movielens(standin=True)
problem, genres = movies.problem, movies.facts["genres"]
popularity = problem.environment.mean_weights
hits = np.argsort(-popularity)[: problem.rank]
best = problem.optimal_basis

for name, items in {"most popular": hits, "best diverse set": best}.items():
    covered = {genre for e in items for genre in genres[e]}
    watched = popularity[items].sum()
    print(
        f"{name}: {len(items)} movies, {len(covered)} genres, {watched:.2f} watched by a visitor"
    )

# %%
# Learning it
# -----------
# The service sees, for each movie that it recommends, whether the visitor has watched it.
# ``OMM`` knows nothing about popularity at first; its confidence radius is scaled to a
# quarter, which suits weights that vary little.

policies = {"OMM, scale 0.25": mb.OMM(0.25), "Thompson": mb.ThompsonSampling()}
result = mb.simulate(problem, policies, n_episodes=1_000, n_runs=20, seed=0)
print(result.summary())

# %%
figure, (bars, curves) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
order = np.argsort(-popularity)[:30]
colours = np.where(np.isin(order, best), "#0072b2", "#cccccc")
bars.bar(np.arange(1, 31), popularity[order], color=colours)
bars.bar(0, 0, color="#0072b2", label="in the best diverse set")
bars.bar(0, 0, color="#cccccc", label="its genres follow from others")
bars.set(
    title="The 30 most popular movies",
    xlabel="rank by popularity",
    ylabel="share of people who watched it",
)
bars.legend(frameon=False)
result.plot(ax=curves, unit="movies", log_x=False)
curves.set(xlabel="visits")
plt.show()

# %%
# The finding
# -----------
# How many movies fewer than with the best set has a visitor watched?

for name in policies:
    at = np.interp([100, 500, 1_000], result.checkpoints, result[name].regret)
    early, late = at[0] / 100, (at[2] - at[1]) / 500
    print(f"{name}: {early:.2f} in the first 100 visits, {late:.2f} in the last 500")

# %%
# A list of hits covers half of the genres. The best diverse set covers all of them and is
# found by the greedy rule, skipping each movie whose genres follow from those already
# taken.
#
# **Read next:** :doc:`/data`, the data of the paper as problems; :doc:`sensor_placement`,
# independence with numbers instead of genres; :doc:`/theory`, the regret bounds.
