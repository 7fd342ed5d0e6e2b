// What somebody chose and the form has not shown as saved yet is kept by the browser window and sent when the item is on
// the screen again: after a lost connection the page may load itself anew. Who was signed in is so again. After rating.js.
(() => {
  const KEPT = "pdfqa-unsaved", PAGE = performance.timeOrigin;
  const FRESH = 10 * 60 * 1000; // older ones are not sent: somebody may have thought otherwise since
  const ACTIONS = ["rate", "words", "rest"];

  function read() {
    try { return JSON.parse(sessionStorage.getItem(KEPT) || "[]").filter((one) => Date.now() - one.at < FRESH); }
    catch { return []; }
  }
  function write(list) {
    try { sessionStorage.setItem(KEPT, JSON.stringify(list)); } catch { /* a full or forbidden store: as before */ }
  }
  const same = (a, b) => ["by", "turn", "item", "criterion"].every((name) => a[name] === b[name]);
  const all = (one) => `[data-action="${one.action}"][data-criterion="${CSS.escape(one.criterion)}"]` +
    (one.item ? `[data-item="${CSS.escape(one.item)}"]` : "") + (one.action === "rate" ? `[data-value="${CSS.escape(one.value)}"]` : "");

  document.addEventListener("click", (event) => {
    const target = event.target.closest?.("#annotate-form [data-action]");
    if (!target || !ACTIONS.includes(target.dataset.action)) return;
    const { action, turn, item = "", criterion, value = "" } = target.dataset, by = target.closest("[data-by]").dataset.by;
    const one = { by, action, turn, item, criterion, value, page: PAGE, at: Date.now() };
    write([...read().filter((other) => !same(one, other)), one]);
  }, true);

  function saved(one, button) {
    if (!button) return true; // nobody asks for it any more
    if (one.action === "rate") return button.getAttribute("aria-pressed") === "true";
    if (one.action === "words") return button.closest(".words").querySelector("textarea").defaultValue === one.value;
    return one.page === PAGE;
  }
  function settle(form) {
    const open = form.querySelector("[data-item-of]")?.dataset;
    if (!open) return;
    const here = (one) => one.turn === open.itemOf && one.by === open.by; // somebody else may sit at this window now
    const list = read().filter((one) => here(one) ? !saved(one, form.querySelector(all(one))) : one.page !== PAGE);
    write(list);
    for (const one of list.filter((other) => here(other) && other.page !== PAGE)) {
      const button = form.querySelector(all(one));
      const field = one.action === "words" && button.closest(".words").querySelector("textarea");
      if (field) { field.value = one.value; field.dispatchEvent(new Event("change", { bubbles: true })); }
      else button.click();
      window.pdfqa.told("Your last choice was not saved before the page was loaded anew. It is sent now.");
    }
  }

  // Who rates in this window is signed in again when the page is loaded again; signing out ends it.
  const RATER = "pdfqa-rater";
  function remember(form) {
    const open = form.querySelector("[data-by]")?.dataset;
    try { if (open?.by) sessionStorage.setItem(RATER, `${open.study} ${open.by}`); } catch { /* as before */ }
  }
  window.pdfqa.rater = () => { try { return sessionStorage.getItem(RATER) || ""; } catch { return ""; } };
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("#annotate-sign-out")) sessionStorage.removeItem(RATER);
  }, true);

  const { shown, mounted } = window.pdfqa;
  window.pdfqa.mounted = (element) => {
    mounted(element);
    if (element.closest("#annotate-form")) setTimeout(() => settle(element)); // when its buttons can be clicked
    if (element.closest("#annotate-form")) remember(element);
  };
  window.pdfqa.shown = (element) => {
    shown(element);
    if (element.closest("#annotate-form")) { settle(element); remember(element); }
    if (element.closest("#annotate-message") && element.textContent.trim()) write([]); // it was refused, and this is said
  };
})();
