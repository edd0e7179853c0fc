"""The version, in a place every layer may read."""

__version__ = "0.3.0.dev0"
