// The overview of a document: folded or not, OCR of the page that is shown, a question that goes to the chat. After app.js.
(() => {
  const KEY = "pdfqa-overview";
  const folded = () => { try { return localStorage.getItem(KEY) === "folded"; } catch { return false; } };
  const keep = (value) => { try { localStorage.setItem(KEY, value ? "folded" : ""); } catch { /* private window */ } };
  function draw() {
    const column = document.getElementById("documents-overview"), button = column?.querySelector("[data-fold]");
    const drawn = column?.querySelector("[data-overview]")?.dataset.overview; // whatever comes late about another one is not seen
    column?.querySelectorAll("[data-of]").forEach((part) => { part.style.display = part.dataset.of === drawn ? "" : "none"; });
    if (!button) return;
    column.classList.toggle("folded", folded());
    button.textContent = folded() ? "more" : "less";
    button.setAttribute("aria-expanded", String(!folded()));
  }
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-fold]")) { keep(!folded()); draw(); }
    const wanted = event.target.closest("[data-read-page]"), button = document.querySelector("#overview-about .read-page");
    if (wanted && button) { button.dataset.numbers = wanted.dataset.readPage; button.click(); }
  });

  function askWanted(tries = 100) { // the Chat tab is made when it is opened for the first time
    const chat = document.querySelector('#pq-tabs > .tab-wrapper [role=tab][data-tab-id="chat"]');
    if (chat?.getAttribute("aria-selected") !== "true") chat?.click();
    const button = document.querySelector("#chat-asked");
    if (button) button.click();
    else if (tries) setTimeout(() => askWanted(tries - 1), 50);
  }

  const before = window.pdfqa.shown;
  Object.assign(window.pdfqa, {
    askWanted: () => askWanted(),
    shown(element) {
      before(element);
      if (element.closest("#documents-overview")) draw();
    },
  });
})();
