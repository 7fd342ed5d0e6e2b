// Rating: fields that go along with a click, passages by key, the time without pauses, and a lost connection.
(() => {
  const seen = (element) => element.getClientRects().length > 0;
  const RATING = "#annotate-form, #annotate-bar";

  // A button inside [data-fields] takes the values of its fields along; in the rating form also the time.
  document.addEventListener("click", (event) => {
    const target = event.target.closest?.("[data-action]");
    if (!target) return;
    if (event.detail && target.closest("#annotate-item")) letGo(target);
    const fields = target.closest("[data-fields]");
    if (fields) fields.querySelectorAll("input[name], textarea[name], select[name]").forEach((one) => { target.dataset[one.name] = one.value; });
    if (target.closest(RATING)) {
      target.dataset.active = (active() / 1000).toFixed(1);
      rating = true;
      target.closest("dialog[open]")?.close(); // before new HTML takes its place: the page would stay inert
    }
  }, true);

  // What is answered in words is saved when its field is left.
  document.addEventListener("change", (event) => {
    const words = event.target.closest?.("#annotate-form .words");
    if (!words) return;
    const button = words.querySelector("button");
    button.dataset.value = event.target.value.trim();
    button.hidden = false; // a hidden one would not be found again while another choice is being saved
    button.click();
    button.hidden = true;
  });

  // A passage opened by hand lets go of the keys, also when it is drawn anew: Enter goes on to the next item, as it says
  // there. Tab leads back to the passages.
  let byHand = false;
  function letGo(focused) {
    byHand = true;
    focused?.blur();
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Tab") byHand = false; }, true);

  // The time an item is looked at; what is between two movements more than a minute apart is a pause.
  const PAUSE = 60000;
  let item = "", counted = 0, last = performance.now();
  function active() {
    const now = performance.now();
    if (now - last <= PAUSE) counted += now - last;
    last = now;
    return counted;
  }
  for (const move of ["keydown", "pointermove", "pointerdown", "wheel", "touchstart"])
    document.addEventListener(move, active, { capture: true, passive: true });
  function newItem() {
    const now = document.querySelector("#annotate-form [data-item-of]")?.dataset.itemOf || "";
    if (now === item) return;
    active();
    item = now;
    counted = 0;
  }

  // Shift and the key of a passage open it whole, with its page.
  document.addEventListener("keydown", (event) => {
    const dialog = document.querySelector("dialog.why[open]");
    if (dialog) { inDialog(dialog, event); return; }
    if (!event.shiftKey || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
    const key = event.code.startsWith("Digit") ? event.code.slice(5) : event.key.toLowerCase();
    const card = /^[a-z0-9]$/.test(key) && [...document.querySelectorAll(`#annotate-item [data-open-key="${key}"]`)].find(seen);
    if (!card) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    card.click();
  }, true);

  // Why an item cannot be judged. What comes late closes the dialog without letting go of the page: it is opened again.
  let asking = null;
  document.addEventListener("close", (event) => { if (event.target === asking && !asking.open) asking = null; }, true);
  function askOn() {
    if (!asking || asking.open || !asking.isConnected) return;
    asking.open = true;
    asking.close();
    asking.showModal();
  }
  function inDialog(dialog, event) {
    if (event.target.closest("input")) return;
    const button = dialog.querySelector(`[data-in-dialog="${CSS.escape(event.key)}"]`);
    if (!button) return;
    event.preventDefault();
    button.click();
  }
  document.addEventListener("click", (event) => {
    const why = event.target.closest?.("[data-why]");
    if (why) {
      asking = why.closest(".annotate-bar").querySelector("dialog");
      asking.showModal();
    }
    if (event.target.closest?.("[data-close]")) event.target.closest("dialog")?.close();
  });

  // A rating that does not reach the program is sent again until it does; saving the same twice changes nothing.
  const WAITS = [500, 1000, 2000, 4000];
  let rating = false, note = null;
  function tell(text) {
    note ||= document.body.appendChild(Object.assign(document.createElement("div"), { id: "pq-lost" }));
    note.setAttribute("role", "alert");
    note.textContent = text;
    note.hidden = !text;
  }
  function told(text) {
    tell(text);
    setTimeout(() => { if (note.textContent === text) tell(""); }, 4000);
  }
  const LOST = "No connection to the program. Your last choice is not saved yet; it is sent again until it is.";
  const send = window.fetch.bind(window);
  window.fetch = async (resource, options) => {
    const again = rating && (options?.method || resource?.method || "GET").toUpperCase() === "POST" && typeof options?.body === "string";
    if (!again) return send(resource, options);
    for (let tries = 0; ; tries += 1) {
      try {
        const answer = await send(resource, options);
        if (tries) told("Connected again. Your last choice was sent.");
        return answer;
      } catch (error) {
        if (options?.signal?.aborted || !document.querySelector("#annotate-form [data-item-of]")) throw error;
        tell(LOST);
        await new Promise((done) => setTimeout(done, WAITS[Math.min(tries, WAITS.length - 1)]));
      }
    }
  };

  // What was opened is on the screen: the chosen passage, and the form that decides about an item.
  let chosen = "", decided = "";
  function showChosen(element) {
    const card = element.querySelector(".passage.chosen"), now = card?.dataset.row || "";
    const column = card?.closest(".column"), top = card ? card.getBoundingClientRect().top : 0;
    const within = column && top >= column.getBoundingClientRect().top && top < column.getBoundingClientRect().bottom - 80;
    if (card && now !== chosen && !within) card.scrollIntoView({ block: "start", behavior: "instant" });
    chosen = now;
    if (byHand && element.contains(document.activeElement)) letGo(document.activeElement);
  }
  let uncovered = "";
  function uncover(element) { // where the page lies over the lower part of the column, its passage goes above it
    const page = element.querySelector(".page-view, .kept-page"), card = page && document.querySelector("#annotate-item .passage.chosen");
    const now = card?.dataset.row || "";
    if (!card || now === uncovered) { uncovered = now; return; }
    uncovered = now;
    const at = card.getBoundingClientRect(), over = page.getBoundingClientRect(), column = card.closest(".column");
    if (over.left >= at.right || at.bottom <= over.top) return;
    column.scrollTop += Math.min(at.bottom + 16 - over.top, at.top - column.getBoundingClientRect().top - 8);
  }
  function showDispute(element) {
    const now = element.querySelector("[data-item]")?.dataset.item || "";
    if (now && now !== decided) element.closest(".column").scrollTop = 0;
    decided = now;
  }

  const { shown, mounted } = window.pdfqa;
  window.pdfqa.told = told;
  window.pdfqa.mounted = (element) => {
    mounted(element);
    if (element.closest("#annotate-form")) newItem();
  };
  window.pdfqa.shown = (element) => {
    shown(element);
    if (element.closest("#annotate-form")) newItem();
    if (element.closest("#annotate-bar")) askOn();
    if (element.closest("#annotate-item")) showChosen(element);
    if (element.closest("#annotate-page")) uncover(element);
    if (element.closest("#annotate-message") && element.querySelector(".said")) element.closest(".column").scrollTop = 0; // what is next
    if (element.closest("#annotate-dispute")) showDispute(element);
    if (element.closest("#annotate-form, #annotate-bar, #annotate-message")) rating = false;
  };
})();
