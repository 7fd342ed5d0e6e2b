// Keys and screen readers: lists with one Tab stop, shortcuts, where the focus goes, what is read out. After app.js.
(() => {
  const seen = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== "hidden";
  const typing = (element) => Boolean(element.closest?.("input, textarea, select, [contenteditable='true'], [contenteditable='plaintext-only']"));
  const tabs = () => [...document.querySelectorAll("#pq-tabs > .tab-wrapper [role=tab]")].filter(seen);
  const openTab = () => tabs().find((tab) => tab.getAttribute("aria-selected") === "true")?.textContent.trim() || "";

  // Lists: rows with their controls. Tab enters a list once, at the row that was used last; arrow keys go on from there.
  const CONTROLS = "button:not([disabled]):not([hidden]), a[href], summary, [tabindex]";
  const visited = new Map(); // by list: the row, its place among the rows, and the control in it
  let within = ""; // the list that has the focus
  const name = (list) => (list.closest("[id]")?.id || "") + "/" + (list.dataset.list || "tabs");
  const lists = () => [...document.querySelectorAll("[data-list]"), document.querySelector("#pq-tabs > .tab-wrapper")].filter(Boolean);
  const listOf = (element) => element.closest?.("[data-list]") || (element.matches?.("#pq-tabs > .tab-wrapper [role=tab]") && element.closest(".tab-wrapper"));
  const rowsOf = (list) => (list.dataset.list ? [...list.querySelectorAll("[data-row]")] : tabs()).filter(seen);
  const controlsOf = (row) => [row, ...row.querySelectorAll(CONTROLS)].filter((one) => one.matches(CONTROLS) && seen(one));

  function current(list) {
    const rows = rowsOf(list), last = visited.get(name(list));
    const chosen = rows.find((row) => row.matches(".chosen, .current, [aria-selected=true]"));
    const row = rows.find((one) => last && one.dataset.row && one.dataset.row === last.row)
      || (last && list.dataset.list && name(list) === within ? rows[Math.min(last.at, rows.length - 1)] : null) || chosen || rows[0];
    const controls = row ? controlsOf(row) : [];
    return row && controls[Math.min(last && row.dataset.row === last.row ? last.control : 0, controls.length - 1)];
  }
  function oneStop(list) {
    const stop = current(list);
    rowsOf(list).flatMap(controlsOf).forEach((one) => { one.tabIndex = one === stop ? 0 : -1; });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Tab") return;
    lists().forEach(oneStop);
    document.querySelectorAll(".option-list").forEach((list) => { list.tabIndex = -1; }); // what scrolls is a stop, but this goes when its field is left
  }, true);
  document.addEventListener("focusin", (event) => {
    const list = listOf(event.target);
    within = list ? name(list) : "";
    const rows = list ? rowsOf(list) : [], at = rows.findIndex((row) => row.contains(event.target));
    if (at >= 0) visited.set(within, { row: rows[at].dataset.row, at, control: controlsOf(rows[at]).indexOf(event.target) });
  });
  document.addEventListener("pointerdown", (event) => { if (!listOf(event.target)) within = ""; }, true);
  document.addEventListener("keydown", (event) => {
    const list = listOf(event.target);
    if (!list || typing(event.target) || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const rows = rowsOf(list), at = rows.findIndex((row) => row.contains(event.target));
    if (at < 0) return;
    const controls = controlsOf(rows[at]), control = controls.indexOf(event.target), alone = controls.length < 2;
    const step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: alone ? [1, 0] : [0, 1], ArrowLeft: alone ? [-1, 0] : [0, -1] }[event.key];
    let target = null;
    if (event.key === "Home" || event.key === "End") target = controlsOf(rows.at(event.key === "Home" ? 0 : -1))[0];
    else if (step?.[0]) { const next = controlsOf(rows[at + step[0]] || rows[at]); target = next[Math.min(control, next.length - 1)]; }
    else if (step) target = controls[control + step[1]] || event.target;
    if (!target) return;
    event.preventDefault();
    target.focus();
    target.scrollIntoView({ block: "nearest" });
  });

  // New HTML takes the place of what had the focus: the same row gets it again.
  function keepFocus(element) {
    if (!within || (document.activeElement && document.activeElement !== document.body)) return;
    const list = [...element.querySelectorAll("[data-list]")].find((one) => name(one) === within);
    if (list) current(list)?.focus({ preventScroll: true });
  }

  // The question box: "/" from anywhere, the link at the top of the page, and the Chat tab itself but on phones.
  const phone = () => matchMedia("(max-width: 860px), (hover: none)").matches;
  let going = 0; // on the way to the question box: there is one way, and opening another tab ends it
  function toQuestion(tries = 40) {
    const box = document.querySelector("#chat-question textarea");
    if (openTab() !== "Chat") tabs().find((tab) => tab.textContent.trim() === "Chat")?.click();
    else if (box && !seen(box)) document.querySelector('[data-view-of="chat-columns"][data-view="2"]')?.click();
    clearTimeout(going);
    if (box && seen(box)) box.focus();
    else if (tries) going = setTimeout(() => toQuestion(tries - 1), 50);
  }
  function toContent() {
    const panel = [...document.querySelectorAll("#pq-tabs [role=tabpanel]")].find(seen);
    if (!panel) return;
    panel.tabIndex = -1;
    panel.focus();
  }
  document.addEventListener("click", (event) => {
    const tab = event.target.closest("#pq-tabs > .tab-wrapper [role=tab]"), skip = event.target.closest("[data-skip]");
    if (tab) clearTimeout(going);
    if (tab?.textContent.trim() === "Chat" && !phone()) going = setTimeout(toQuestion, 0);
    if (skip) { event.preventDefault(); if (skip.dataset.skip === "question") toQuestion(); else toContent(); }
    if (event.target.closest("[data-shortcuts]")) showShortcuts();
  });

  // All shortcuts, those of the open tab first.
  function showShortcuts() {
    const dialog = document.getElementById("pq-shortcuts");
    if (!dialog || dialog.open) return;
    const sections = [...dialog.querySelectorAll("section")].sort((one, other) => one.dataset.place - other.dataset.place);
    const first = sections.findIndex((section) => section.dataset.of === openTab());
    if (first > 0) sections.unshift(...sections.splice(first, 1));
    sections.forEach((section) => section.parentElement.append(section));
    dialog.showModal();
  }
  document.addEventListener("keydown", (event) => {
    if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
    if (event.key === "?") { event.preventDefault(); showShortcuts(); }
    if (event.key === "/") { event.preventDefault(); toQuestion(); }
  });

  // Esc closes what is open; true if something was.
  function closeOpen() {
    const details = document.activeElement?.closest("details[open]"), wide = [...document.querySelectorAll(".pq-columns.wide")].find(seen);
    const page = [...document.querySelectorAll("#annotate-page :is(.page-view, .kept-page)")].find(seen);
    const send = document.querySelector("#chat-send"), edited = [...document.querySelectorAll("#chat-transcript [data-action=edit]")].find(seen);
    if (edited && send?.textContent.trim() === "Replace") edited.click();
    else if (details) { details.open = false; details.querySelector("summary")?.focus(); }
    else if (page) document.querySelector("#annotate-item .passage.chosen")?.click();
    else if (wide) wide.classList.remove("wide");
    else return false;
    return true;
  }

  // What is read out: what goes on (data-say), once for each new phase, and an answer once, when it is finished.
  let region = null, asked = false;
  const phases = new Map();
  function say(text) {
    region ||= document.body.appendChild(Object.assign(document.createElement("div"), { id: "pq-said", className: "pq-unseen" }));
    region.setAttribute("aria-live", "polite");
    region.textContent = text;
  }
  document.addEventListener("DOMContentLoaded", () => say(""));
  function sayPhase(element) {
    const words = [...element.querySelectorAll("[data-say]")].map((one) => one.dataset.say).join(", "), key = element.id || element.closest("[id]")?.id;
    const phase = words.replace(/[\d.,:]+/g, "");
    if (phase && phases.get(key) !== phase) say(words);
    phases.set(key, phase);
  }
  function sayAnswer() {
    if (document.querySelector("#chat-live [data-follow]")) { asked = true; return; }
    const answer = [...document.querySelectorAll("#chat-transcript .turn .answer")].at(-1);
    if (!asked || document.querySelector("#chat-live .error")) { asked = false; return; }
    if (!answer) return;
    asked = false;
    const copy = answer.cloneNode(true);
    copy.querySelectorAll(".cite, .badge, .match, .after").forEach((one) => one.remove());
    copy.querySelectorAll("p, td, th, .head, .text").forEach((one) => one.append(" "));
    say(copy.textContent.replace(/\s+/g, " ").trim());
  }

  // A question asked while an answer is written stays where it is, and a line above the box says why until that is done.
  const ASKING = "#chat-transcript :is([data-action=ask], [data-action=retry], [data-action=anyway]), :is(#chat-follow-ups, #overview-questions) [data-action=ask]";
  const stoppable = () => { const stop = document.querySelector("#chat-stop"); return Boolean(stop && seen(stop)); };
  const written = () => stoppable() || Boolean(document.querySelector("#chat-live .turn .phase"));
  let waiting = 0;
  function sayWait(event) {
    const line = document.querySelector("#chat-waits p");
    event.preventDefault();
    event.stopImmediatePropagation();
    clearInterval(waiting);
    line.hidden = false;
    say(line.textContent);
    waiting = setInterval(() => { if (!written()) { line.hidden = true; clearInterval(waiting); } }, 200);
  }
  document.addEventListener("keydown", (event) => {
    const box = event.target.closest?.("#chat-question textarea");
    if (box?.value.trim() && event.key === "Enter" && !event.shiftKey && !event.isComposing && written()) sayWait(event);
  }, true);
  let clickedAt = -1000; // when a question was clicked that is about to be asked: a second click is part of a double one
  document.addEventListener("pdfqa-live", () => { clickedAt = -1000; });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(ASKING)) return;
    if (stoppable() || event.timeStamp - clickedAt < 1000) sayWait(event); else clickedAt = event.timeStamp;
  }, true);

  // What Gradio's own parts lack: its panels have no names.
  function dress() {
    document.querySelectorAll("#pq-tabs [role=tab][aria-controls]").forEach((tab) => {
      document.getElementById(tab.getAttribute("aria-controls"))?.setAttribute("aria-label", tab.textContent.trim());
    });
  }

  const shown = window.pdfqa.shown;
  Object.assign(window.pdfqa, {
    closeOpen,
    shown(element) {
      shown(element);
      dress();
      keepFocus(element);
      sayPhase(element);
      if (element.closest("#chat-live, #chat-transcript")) setTimeout(sayAnswer, 0);
    },
  });
})();
