"""The paper's movies, shown to visitors of whom gender and age are known."""

import numpy as np

import matroid_bandits as mb
from matroid_bandits.exceptions import DataError
from matroid_bandits.reporting import Text
from matroid_bandits.stream import FEATURES

from .blocks import best_plot, regret_table

TITLE = "Movies for visitors"
N_EPISODES, N_QUICK, N_RUNS = 4_000, 400, 20

#: The standard deviation of a weight that is 1 as often as 0.
NOISE = 0.5

#: The least ages of MovieLens's age groups, the first of everyone under 18, and the share of each in made-up people.
AGES = {1: 0.04, 18: 0.18, 25: 0.35, 35: 0.2, 45: 0.09, 50: 0.08, 56: 0.06}


class VisitorEnvironment(mb.Environment):
    """Each episode one person, chosen uniformly, whose group is known before the decision and decides the features.

    The weights are the person's row. Given the group, the person is any of it, so the mean of an item is the mean of
    the group's rows. Regret is against the best set for these means: without knowing the person none is better.
    `rows` has a row per person, `groups` the group of each, and `features` (n_groups, L, d) what is seen of a group.
    """

    kind = "visitors"

    def __init__(self, rows, groups, features):
        super().__init__(support=(float(rows.min()), float(rows.max())), n_items=rows.shape[1])
        self._rows, self._groups, self._features = rows, groups, features
        self.group_means = np.stack([rows[groups == g].mean(axis=0) for g in range(len(features))])
        self.n_features = features.shape[2]

    def features(self, stream, t):
        return self._features[self._groups[self._people(stream, t)]]

    def means(self, t, stream):
        return self.group_means[self._groups[self._people(stream, t)]]

    def draw(self, stream, t, items):
        return self._rows[self._people(stream, t)[:, None], items].astype(np.float64)

    def overall_means(self):
        """What people of all groups like on average."""
        return self._rows.mean(axis=0)

    def _people(self, stream, t):
        """Who comes in each run: the same person, whatever is asked about them."""
        return (stream.with_purpose(FEATURES).run_uniform(t) * len(self._rows)).astype(np.int64)


def load(data):
    """The movies and who rated them; the stand-in where nothing is known of those people."""
    dataset = mb.datasets.movielens(data)
    is_known = dataset.path is not None and (dataset.path / "users.dat").is_file()
    return [dataset if is_known else mb.datasets.movielens(standin=True)]


def people_of(dataset):
    """Whether each person is a woman, and the least age of their age group."""
    return made_up_people(dataset) if dataset.path is None else read_people(dataset)


def read_people(dataset):
    """Read MovieLens's ``users.dat``, ``user::gender::age::occupation::zip`` a line."""
    known, path = {}, dataset.path / "users.dat"
    for line, text in enumerate(path.read_text("latin-1").splitlines(), 1):
        user, gender, age, *rest = text.split("::") + [""] * 3
        if len(rest) != 5 or gender not in ("F", "M") or not age.isdecimal() or int(age) not in AGES:
            raise DataError(f"{path}:{line}: expected 'user::gender::age::occupation::zip', got {text!r}")
        known[user] = gender == "F", int(age)
    users = [str(user) for user in dataset.facts["users"]]
    if unknown := [user for user in users if user not in known]:
        raise DataError(f"{path}: expected a line for user {unknown[0]}, who has ratings; got none")
    women, ages = zip(*(known[user] for user in users), strict=True)
    return np.array(women), np.array(ages)


def made_up_people(dataset):
    """Three in ten are women, and what a person has rated says a little of who they are.

    People who have rated more dramas and romances than action are more likely to be women, and people who have rated
    more of war and drama than of comedy and science fiction are older.
    """
    rng, genres, rated = np.random.default_rng(1_000_210), dataset.facts["genres"], dataset.facts["rated"]

    def leaning(more, less):
        signs = [sum(name in own for name in more) - sum(name in own for name in less) for own in genres]
        score = rated @ np.array(signs, np.float64)
        return (score - score.mean()) / score.std() + rng.standard_normal(score.size)

    women = leaning(("Drama", "Romance"), ("Action", "Sci-Fi"))
    ages = np.argsort(np.argsort(leaning(("Drama", "War"), ("Comedy", "Sci-Fi"))))
    bounds = np.cumsum([*AGES.values()])[:-1] * ages.size
    return women > np.quantile(women, 0.7), np.array([*AGES])[np.searchsorted(bounds, ages, side="right")]


def problems(datasets, n_episodes):
    """The movies, shown to every second person; what the others have rated describes the movies."""
    dataset, rated = datasets[0], datasets[0].facts["rated"]
    is_woman, ages = people_of(dataset)
    is_past = np.arange(len(rated)) % 2 == 0
    people = np.column_stack((np.ones(len(rated)), is_woman, (ages - 35) / 20.0))
    kinds, groups = np.unique(people[~is_past], axis=0, return_inverse=True)
    movies = describe(dataset, rated[is_past].mean(axis=0))
    features = (movies[None, :, :, None] * kinds[:, None, None, :]).reshape(len(kinds), len(movies), -1)
    world = VisitorEnvironment(rated[~is_past], groups.reshape(-1), features)
    return {"movies for visitors": mb.Problem(dataset.problem.constraint, world)}


def describe(dataset, popularity):
    """What is known of each movie: how popular it was, and that for each of its genres."""
    genres = [[name in own for name in dataset.facts["genre_names"]] for own in dataset.facts["genres"]]
    return popularity[:, None] * np.column_stack((np.ones(popularity.size), np.array(genres, np.float64)))


def policies(problem, n_episodes):
    """Policies that see the visitor's features, and policies that do not."""
    world = problem.environment
    best = problem.best_sets(world.overall_means()[None])[0][0]
    return {
        "OMM": [mb.OMM(scale) for scale in (1.0, 0.5, 0.25, 0.1)],
        "Thompson": mb.ThompsonSampling(),
        "best single set": mb.FixedSet(best.tolist()),
        "CombLinUCB": mb.CombLinUCB(n_features=world.n_features, noise=NOISE),
        "CombLinTS": mb.CombLinTS(n_features=world.n_features, noise=NOISE),
    }


def write(sweep, datasets):
    ((name, problem),) = sweep.problems.items()
    world = problem.environment
    title = f"{TITLE}: regret against the best set for each kind of visitor"
    note = f"The best sets for the kinds are worth {sweep[name].optimal_value:.3f} an episode."
    return (
        "The paper's movies, recommended to a visitor whose gender and age group are known:"
        f" {len(world.group_means)} kinds of visitors.",
        Text(
            "Every second person is a visitor; what the others have rated tells how popular a movie is. The features"
            " of a movie for a visitor are its popularity, once by itself and once for each of its genres, times 1,"
            f" woman (0 or 1) and age (in twenties of years from 35): {world.n_features} numbers. A visitor's"
            " occupation is left out, since with it most kinds would be a handful of people. The mean of a movie is"
            " that of the visitors of the same kind, and regret is against the best set for that kind; means are not"
            " quite linear in the features, so even the best linear policy keeps some regret. OMM and Thompson"
            " sampling know nothing of movies or visitors."
        ),
        regret_table(sweep, datasets, "visitors", title, note),
        best_plot(sweep, datasets, "beyond-visitors", TITLE, "OMM is shown at its best scale."),
    )
