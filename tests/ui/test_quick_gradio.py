"""Gradio makes no type stubs when the page is imported, and everything else of it is as it was."""

from __future__ import annotations

import json
import subprocess
import sys

COUNTED = """
import inspect, json, sys
known, opened = inspect.getfile, []
sys.addaudithook(lambda event, values: event == "open" and opened.append(str(values[0])))
import pdfqa_core.ui
import gradio
stubs = {name for name in opened if name.endswith(".pyi") and "components" in name}
print(json.dumps([sorted(stubs), inspect.getfile is known, inspect.getfile(gradio.Textbox)[-10:]]))
"""


def test_importing_the_page_makes_no_stubs_and_leaves_inspect_as_it_was():
    done = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[], True, "textbox.py"]


def test_components_have_their_events_all_the_same():
    import gradio as gr

    import pdfqa_core.ui  # noqa: F401

    assert {"change", "submit", "blur"} <= {str(event) for event in gr.Textbox.EVENTS}
    assert gr.Textbox(label="Name").get_config()["label"] == "Name"
