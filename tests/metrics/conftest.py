"""Hypothesis measures no times here: a busy machine makes no test fail."""

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
