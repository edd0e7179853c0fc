"""Exceptions of the package: one root class, each also a subclass of the fitting built-in exception."""


class MatroidBanditsError(Exception):
    """Base class of all exceptions of this package.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> try:
    ...     mb.UniformMatroid(3, 5)
    ... except mb.MatroidBanditsError as error:
    ...     print(error)
    expected rank to be an integer from 0 to 3, got 5
    """


class InvalidConstraintError(MatroidBanditsError, ValueError):
    """Arguments do not describe a constraint of the requested family."""


class InvalidMatroidError(InvalidConstraintError):
    """Arguments do not describe a matroid of the requested family."""


class ItemError(MatroidBanditsError, ValueError):
    """A set of items is malformed: unknown, repeated, or not of the kind the call needs."""


class WeightsError(MatroidBanditsError, ValueError):
    """Weights have the wrong shape or type, or contain NaN."""


class SerializationError(MatroidBanditsError, ValueError):
    """A stored form is malformed, of another package or a newer version, or cannot be made."""


class ContractError(MatroidBanditsError, AssertionError):
    """A class violates a property that it must have; the message gives a counterexample."""


class MissingDependencyError(MatroidBanditsError, ImportError):
    """An optional dependency is needed and not installed."""


class InvalidEnvironmentError(MatroidBanditsError, ValueError):
    """Parameters do not describe a distribution over weights."""


class PolicyError(MatroidBanditsError, ValueError):
    """A policy's parameters are wrong, or it does not fit the problem it was given."""


class ProblemError(MatroidBanditsError, ValueError):
    """A matroid and an environment do not fit together, or a problem lacks a requested property."""


class SimulationError(MatroidBanditsError, ValueError):
    """Arguments of a simulation or sweep are invalid."""


class StoppingError(MatroidBanditsError, ValueError):
    """A stopping rule cannot be used: invalid settings, weights outside its range, or no matroid."""


class EvaluationError(MatroidBanditsError, ValueError):
    """A log lacks the data for a requested evaluation."""


class DeviceError(MatroidBanditsError, RuntimeError):
    """A requested GPU cannot be used: none is found, it lacks memory, or the simulation has no GPU form."""


class SeedError(MatroidBanditsError, ValueError):
    """A seed, run, episode or item number is outside the range of the random number generator."""


class FeedbackError(MatroidBanditsError, ValueError):
    """Observed weights do not fit the items of their decision."""


class UnknownDecisionError(MatroidBanditsError, KeyError):
    """This learner has not made a decision with the given id."""

    __str__ = Exception.__str__  # KeyError would print the message in quotes


class DecisionClosedError(MatroidBanditsError, ValueError):
    """The weights of a decision, or of one of its items, were already told."""


class ForkError(MatroidBanditsError, RuntimeError):
    """A learner was made before its process was forked, and would repeat the decisions of the parent process."""


class ReplayError(MatroidBanditsError, ValueError):
    """An event does not fit the learner it is applied to, or the learner's decision differs from the log."""


class DataError(MatroidBanditsError, ValueError):
    """A data file is missing, malformed or not the expected one."""


class MalformedRequestError(MatroidBanditsError, ValueError):
    """A request to the service is not JSON, or has an unreadable header or query."""


class AccessError(MatroidBanditsError, PermissionError):
    """A request to the service has no key, a wrong one, or one without the permission."""


class UnknownCampaignError(MatroidBanditsError, KeyError):
    """The service has no campaign of that name."""

    __str__ = Exception.__str__  # KeyError would print the message in quotes


class CampaignStateError(MatroidBanditsError, ValueError):
    """The campaign is paused or archived, or its name is taken."""


class CampaignStoppedError(MatroidBanditsError, RuntimeError):
    """A logged decision cannot be reproduced by this build; the campaign stops until the log is trusted."""


class RequestIdError(MatroidBanditsError, ValueError):
    """A request id was already used for a different request."""


class ArchivedEventsError(MatroidBanditsError, LookupError):
    """Requested events are in archives only; `first` is the first event in the log."""

    first = 0


class LimitError(MatroidBanditsError, ValueError):
    """A body, batch, label, constraint or number of campaigns exceeds a limit of the service."""


class RateLimitError(MatroidBanditsError, RuntimeError):
    """A key has exceeded its rate limit."""


class UnavailableError(MatroidBanditsError, ConnectionError):
    """The service or its database does not respond; the request may be retried with the same id."""


class ScaleWarning(MatroidBanditsError, UserWarning):
    """The weights' range is far larger than the policy's `scale`, so it may explore too little."""


class LogWarning(MatroidBanditsError, UserWarning):
    """A log of version 0.2.0 tells weights of which it is not certain whose they are."""


class SweepWarning(MatroidBanditsError, UserWarning):
    """A store holds results of the same names with other settings; both are kept."""


class RandomnessWarning(MatroidBanditsError, UserWarning):
    """A policy or environment drew from a global random number generator, so its results cannot be repeated."""
