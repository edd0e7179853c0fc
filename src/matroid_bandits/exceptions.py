"""One root error and its small family; each also derives from the built-in a caller would guess."""


class MatroidBanditsError(Exception):
    """Root of every error this package raises on purpose."""


class InvalidConstraintError(MatroidBanditsError, ValueError):
    """What was given does not describe a constraint of the family asked for."""


class InvalidMatroidError(InvalidConstraintError):
    """What was given does not describe a matroid of the family asked for."""


class ItemError(MatroidBanditsError, ValueError):
    """A set of items is malformed: unknown, repeated, or not of the kind the call needs."""


class WeightsError(MatroidBanditsError, ValueError):
    """Weights have the wrong shape or type, or contain NaN."""


class SerializationError(MatroidBanditsError, ValueError):
    """A stored form is malformed, foreign or newer than this version, or cannot be made."""


class ContractError(MatroidBanditsError, AssertionError):
    """A class breaks a property it must keep; the message names the counterexample."""


class MissingDependencyError(MatroidBanditsError, ImportError):
    """An optional dependency is needed and not installed."""


class InvalidEnvironmentError(MatroidBanditsError, ValueError):
    """Parameters do not describe a distribution over weights."""


class PolicyError(MatroidBanditsError, ValueError):
    """A policy's parameters are wrong, or it does not fit the problem it was given."""


class ProblemError(MatroidBanditsError, ValueError):
    """A matroid and an environment do not fit together, or a problem lacks what was asked of it."""


class SimulationError(MatroidBanditsError, ValueError):
    """A simulation's settings are wrong."""


class StoppingError(MatroidBanditsError, ValueError):
    """A stopping rule does not fit: wrong settings, weights outside the law, a constraint that is no matroid."""


class EvaluationError(MatroidBanditsError, ValueError):
    """A log cannot answer what is asked of it."""


class DeviceError(MatroidBanditsError, RuntimeError):
    """A GPU was asked for and cannot be used: there is none, it lacks memory, or the simulation does not fit."""


class SeedError(MatroidBanditsError, ValueError):
    """A seed, run, episode or item cannot address a random draw."""


class FeedbackError(MatroidBanditsError, ValueError):
    """Observed weights do not fit the basis they answer."""


class UnknownDecisionError(MatroidBanditsError, KeyError):
    """No decision with that id was ever made by this learner."""

    __str__ = Exception.__str__  # KeyError would print the message in quotes


class DecisionClosedError(MatroidBanditsError, ValueError):
    """The decision, or an item of it, has been told its weight already."""


class ReplayError(MatroidBanditsError, ValueError):
    """An event does not fit the learner it should happen to, or the learner decides otherwise than the log says."""


class DataError(MatroidBanditsError, ValueError):
    """A data file is missing, malformed or not the expected one."""


class MalformedRequestError(MatroidBanditsError, ValueError):
    """A request to the service is no JSON, or has a header or a query that cannot be read."""


class AccessError(MatroidBanditsError, PermissionError):
    """A request to the service has no key, a wrong one, or one that may not do this."""


class UnknownCampaignError(MatroidBanditsError, KeyError):
    """The service has no campaign of that name."""

    __str__ = Exception.__str__  # KeyError would print the message in quotes


class CampaignStateError(MatroidBanditsError, ValueError):
    """The campaign is paused or archived, or its name is taken."""


class CampaignStoppedError(MatroidBanditsError, RuntimeError):
    """The log has a decision that this build would not make, so nothing is decided until the log is trusted."""


class RequestIdError(MatroidBanditsError, ValueError):
    """The same request id came with another request."""


class ArchivedEventsError(MatroidBanditsError, LookupError):
    """Events that were asked for are in archives alone; `first` is the first that the log still has."""

    first = 0


class LimitError(MatroidBanditsError, ValueError):
    """A body, batch, label, constraint or number of campaigns is larger than the service takes."""


class RateLimitError(MatroidBanditsError, RuntimeError):
    """A key was used more often than it may be."""


class UnavailableError(MatroidBanditsError, ConnectionError):
    """The service, or the database behind it, does not answer now; the request may be sent again with its id."""


class ScaleWarning(MatroidBanditsError, UserWarning):
    """A learner was told weights that lie further apart than its policy's `scale`, so it may explore too little."""


class SweepWarning(MatroidBanditsError, UserWarning):
    """A store holds results of the same names with other settings; they are kept apart."""
