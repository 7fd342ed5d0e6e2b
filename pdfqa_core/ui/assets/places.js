// Where one is stands in the address, read off what the page shows. After keys.js.
(() => {
  const NAMES = ["tab", "conversation", "turn", "passage", "document", "page", "evaluation", "find"];
  const THINGS = ["conversation", "document", "evaluation"]; // another one of them is a step that the browser goes back
  const PATIENCE = 4000; // milliseconds after which what is shown counts, also if it is not what the address names
  const one = (selector) => document.querySelector(selector);
  const openedTab = () => one("#pq-tabs > .tab-wrapper [role=tab][aria-selected=true]")?.dataset.tabId || "documents";

  function said() {
    const params = new URL(location.href).searchParams;
    return { tab: "documents", ...Object.fromEntries(NAMES.filter((name) => params.get(name)).map((name) => [name, params.get(name)])) };
  }
  // What the open tab shows; null: nothing yet.
  function shown() {
    const place = { tab: openedTab() };
    if (place.tab === "chat") {
      if (!one("#chat-conversations .pq")) return null;
      place.conversation = one("#chat-conversations li.chosen")?.dataset.row;
      const before = said(), writing = one("#chat-live [data-follow]");
      if (writing && before.conversation === place.conversation) Object.assign(place, { turn: before.turn, passage: before.passage });
      else if (!writing) {
        place.turn = one("#chat-transcript .turn.current")?.dataset.turnId;
        place.passage = place.turn && one("#chat-evidence .passage.chosen")?.dataset.rank;
      }
    }
    if (place.tab === "documents") {
      if (!one("#documents-table .pq")) return null;
      place.document = one("#documents-table tr.chosen")?.dataset.document;
      const [document, page] = (one("#documents-page .page-view[data-shows]")?.dataset.shows || "").split("/");
      if (place.document && document === place.document) place.page = page;
      place.find = markedOn(place);
    }
    if (place.tab === "evaluate") {
      if (!one("#evaluate-results .pq")) return null;
      place.evaluation = one("#evaluate-results [data-evaluation]")?.dataset.evaluation;
    }
    return Object.fromEntries(Object.entries(place).filter(([, value]) => value));
  }
  // The words that are marked on the open page, until another one is opened.
  let marked = said(), reached = false;
  function markedOn(place) {
    const on = marked.find && place.document === marked.document && place.page === (marked.page || "1");
    if (reached && !on) marked = {};
    reached = on;
    return on ? marked.find : undefined;
  }
  const same = (place, other, names) => names.every((name) => (place[name] || "") === (other[name] || ""));

  // On the way to a place: until it is shown, what is shown is not written into the address.
  let way = { to: said(), loading: true, until: Infinity };
  const there = (place) => (way.loading
    ? ["tab", ...THINGS].every((name) => !way.to[name] || way.to[name] === place[name])
    : same(place, way.to, ["tab", ...THINGS]));

  let noting = 0;
  function noteSoon() {
    clearTimeout(noting);
    noting = setTimeout(note, 60);
  }
  function note() {
    const place = shown(), before = said();
    if (!place) return;
    const onTheWay = way;
    if (way) {
      if (!there(place) && performance.now() < way.until) return;
      if (way.until === Infinity) return;
      way = null;
    }
    if (same(place, before, NAMES)) return;
    const opened = THINGS.some((name) => (before[name] || "") !== (place[name] || "") && (before[name] || name === "document"));
    const step = !onTheWay && (before.tab !== place.tab || opened);
    const address = new URL(location.href);
    NAMES.forEach((name) => address.searchParams.delete(name));
    Object.entries(place).forEach(([name, value]) => address.searchParams.set(name, value));
    history[step ? "pushState" : "replaceState"](step ? null : history.state, "", address);
  }
  document.addEventListener("click", (event) => {
    if (event.isTrusted && event.target.closest("#pq-tabs > .tab-wrapper [role=tab]")) way = null; // a hand outranks the way
    noteSoon();
  });

  addEventListener("popstate", () => {
    const button = one("#pq-going [data-action=go]");
    if (!button) return;
    way = { to: said(), loading: false, until: Infinity };
    marked = said();
    reached = false;
    button.click();
  });
  function arrived() { // the server has opened the place; a tab is filled when it is opened, the open one now
    const address = new URL(location.href);
    if (address.searchParams.has("invite") && one("[data-invited]") && !one("[data-nobody]")) { // used: not to be passed on
      address.searchParams.delete("invite");
      history.replaceState(history.state, "", address);
    }
    if (!way || openedTab() === way.to.tab) one(`#pq-${CSS.escape(openedTab())}-fill`)?.click();
    if (!way) return;
    way.until = performance.now() + PATIENCE;
    openTab(way.to.tab);
    setTimeout(noteSoon, PATIENCE);
    noteSoon();
  }
  function openTab(name) {
    if (openedTab() !== name) one(`#pq-tabs > .tab-wrapper [role=tab][data-tab-id="${CSS.escape(name)}"]`)?.click();
  }

  // The tab is opened as soon as it is there, and nothing of another one is shown before.
  const root = document.documentElement, first = way.to.tab;
  if (first !== "documents") {
    root.classList.add("pq-arriving");
    const look = setInterval(() => {
      if (!one("#pq-tabs > .tab-wrapper [role=tab]")) return;
      if (way) openTab(first);
      if (!way || openedTab() === first || performance.now() > 10_000 || !one(`#pq-tabs [data-tab-id="${CSS.escape(first)}"]`)) {
        clearInterval(look);
        root.classList.remove("pq-arriving");
      }
    }, 20);
  }

  const before = window.pdfqa.shown;
  Object.assign(window.pdfqa, {
    arrived,
    shown(element) {
      before(element);
      noteSoon();
    },
  });
})();
