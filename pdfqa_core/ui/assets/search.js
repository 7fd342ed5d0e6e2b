// The search over everything: opened by a key or from the header, arrow keys lead through what is found. After places.js.
(() => {
  const one = (selector) => document.querySelector(selector);
  const panel = () => one("#pq-find"), field = () => one("#pq-find-field textarea, #pq-find-field input");
  const links = () => [...document.querySelectorAll("#pq-found a[data-place]")];
  const opened = () => document.documentElement.classList.contains("pq-finding");
  let left = null; // what had the focus before
  let first = false; // the first place is to be opened as soon as it is found
  let turn = ""; // the answer that is scrolled to when its conversation is shown

  function open() {
    if (!panel() || document.querySelector("dialog[open]")) return;
    if (!opened()) left = document.activeElement;
    panel().setAttribute("role", "search");
    panel().setAttribute("aria-label", "Search titles, pages and conversations");
    document.documentElement.classList.add("pq-finding");
    field()?.focus();
    field()?.select();
  }
  function close(back = true) {
    document.documentElement.classList.remove("pq-finding");
    if (back) left?.focus?.();
    left = null;
  }
  function go(link) {
    const chosen = new URL(link.href);
    turn = chosen.searchParams.get("turn") || "";
    close(false);
    history.pushState(null, "", chosen);
    dispatchEvent(new PopStateEvent("popstate"));
    setTimeout(scrollToTurn, 300);
  }
  function openFirst() { // when what is found is that of the words in the field
    if (!first || one("#pq-found [data-query]")?.dataset.query !== field()?.value.trim()) return;
    first = false;
    links()[0]?.click();
  }
  function scrollToTurn() {
    const found = turn && one(`#chat-transcript .turn[data-turn-id="${CSS.escape(turn)}"]`), box = one("#chat-scroll");
    if (!found || !box || !found.getClientRects().length) return;
    turn = "";
    box.scrollTop += found.getBoundingClientRect().top - box.getBoundingClientRect().top - 12;
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-find]")) { open(); return; }
    const link = event.target.closest("#pq-found a[data-place]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); go(link); return; }
    if (opened() && !event.target.closest("#pq-find")) close(false);
  });
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (opened()) close(); else open();
      return;
    }
    if (!opened() || !event.target.closest?.("#pq-find")) return;
    const all = links(), at = all.indexOf(document.activeElement);
    if (event.key === "Escape") { event.preventDefault(); event.stopImmediatePropagation(); close(); }
    else if (event.key === "ArrowDown" && all.length) { event.preventDefault(); all[Math.min(at + 1, all.length - 1)].focus(); }
    else if (event.key === "ArrowUp" && at >= 0) { event.preventDefault(); (all[at - 1] || field())?.focus(); }
    else if (event.key === "Enter" && at < 0) { event.preventDefault(); first = true; openFirst(); }
    else if (at < 0) first = false;
  }, true);

  const before = window.pdfqa.shown;
  window.pdfqa.shown = (element) => {
    before(element);
    if (element.closest("#pq-found")) openFirst();
    if (turn && element.closest("#chat-transcript, #chat-live")) setTimeout(scrollToTurn, 0);
  };
})();
