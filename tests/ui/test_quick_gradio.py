"""What is served in place of parts of Gradio's script stands where it is meant to, and finds the same."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from pdfqa_core.ui.quick_gradio import QUICKER, SCRIPTS, QuickPage, quick_scripts


def test_the_installed_gradio_is_made_quicker():
    ((path, script),) = quick_scripts().items()
    written = (SCRIPTS / path.rpartition("/")[2]).read_text(encoding="utf-8")
    assert [written.count(slow) for slow in QUICKER] == [1] * len(QUICKER), "Gradio changed: is all this still needed?"
    assert all(quick in script.decode() for quick in QUICKER.values())
    client = TestClient(Starlette(middleware=[Middleware(QuickPage)]))
    answer = client.get(path)
    assert (answer.content, answer.headers["content-type"]) == (script, "text/javascript; charset=utf-8")
    assert client.get("/assets/other.js").status_code == 404


FOUND = """
([events, search, clear]) => {
  const node = (id, ...children) => ({ id, children, props: { shared_props: {} } });
  const root = node(1, node(2, node(3), node(4)), { id: 5, props: { shared_props: {} } }, node(6, node(4)));
  const targets = [[[3, "click"], [2, null], [3, "load"]], [[2, "change"]], [], [[3, "tick"], [7, "load"]]];
  const handlers = targets.map((targets) => ({ targets }));
  const events_of = new Function("e", "t", events + "return n").bind({});
  const named = [1, 2, 3, 4, 5, 6, 7].map((id) => events_of({ id }, handlers));
  const { find, replace } = new Function(
    `${search}; return { find: Z, replace: (a, i) => { ${clear} null } }`
  )();
  const ids = () => [1, 2, 3, 4, 5, 6, 7].map((id) => find(root, id)).map((one) => one && [one.id, one === root]);
  const before = ids(), first = find(root, 4) === root.children[0].children[1];
  replace(root.children[0], node(2, node(7)));
  return [named, before, first, ids()];
}
"""


@pytest.mark.browser
def test_the_quicker_parts_find_what_the_others_find(browser: Browser):
    page = browser.new_page()
    slow, quick = (page.evaluate(FOUND, list(parts)) for parts in (QUICKER, QUICKER.values()))
    page.close()
    assert slow == quick
    assert slow[0] == [[], ["change"], ["click", "tick"], [], [], [], ["load"]]
    assert slow[2]
