"""Hypothesis tries fewer examples than usual and measures no times: a busy machine makes no test fail."""

from hypothesis import settings

settings.register_profile("short", deadline=None, max_examples=30)
settings.load_profile("short")
