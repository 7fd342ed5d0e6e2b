// Before anything is drawn: light or dark by the address (?__theme=), else what was chosen, else as the system; which
// tabs there are by the address (?mode=), else what was chosen, else as the server is set.
(() => {
  const GROUND = { light: "#f5f5f2", dark: "#14171a" }; // --pq-ground of app.css, which comes later
  const asked = () => new URL(location.href).searchParams.get("__theme");
  const stored = () => { try { return localStorage.getItem("pdfqa-scheme"); } catch { return null; } };
  const known = (scheme) => (scheme === "light" || scheme === "dark" ? scheme : null);
  const system = matchMedia("(prefers-color-scheme: dark)");
  let kept = null; // where the browser keeps nothing, the choice lasts as long as the page
  const choice = () => known(asked()) || known(kept || stored()) || "system";

  function apply() {
    const chosen = choice(), dark = chosen === "dark" || (chosen === "system" && system.matches);
    document.documentElement.style.background = GROUND[dark ? "dark" : "light"];
    document.body?.classList.toggle("dark", dark);
    document.querySelectorAll("[data-scheme]").forEach((button) => {
      button.setAttribute("aria-checked", String(button.dataset.scheme === chosen));
      button.classList.toggle("on", button.dataset.scheme === chosen);
      button.tabIndex = button.dataset.scheme === chosen ? 0 : -1;
    });
  }
  apply();
  system.addEventListener("change", apply);
  // Gradio looks at the system alone when it starts: what was chosen is put back before anything is drawn.
  const wrong = () => choice() !== "system" && document.body.classList.contains("dark") !== (choice() === "dark");
  const guard = new MutationObserver(() => { if (wrong()) apply(); });
  new MutationObserver((_changes, watch) => {
    if (!document.body) return;
    watch.disconnect();
    guard.observe(document.body, { attributeFilter: ["class"] });
    apply();
  }).observe(document.documentElement, { childList: true });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-scheme]");
    if (!button) return;
    kept = button.dataset.scheme;
    try { localStorage.setItem("pdfqa-scheme", kept); } catch { /* private window */ }
    const address = new URL(location.href);
    address.searchParams.delete("__theme"); // the hand outranks the link
    history.replaceState(history.state, "", address);
    apply();
  });

  const given = document.currentScript.dataset.mode, narrow = matchMedia("(max-width: 860px)");
  const mode = (name) => (name === "simple" || name === "research" ? name : null);
  let now = mode(new URL(location.href).searchParams.get("mode"));
  try { now ||= mode(localStorage.getItem("pdfqa-mode")); } catch { /* private window */ }
  now ||= given;
  function showMode() {
    document.documentElement.dataset.mode = now;
    document.querySelectorAll("button[data-mode]").forEach((button) => {
      button.setAttribute("aria-checked", String(button.dataset.mode === now));
      button.classList.toggle("on", button.dataset.mode === now);
      button.tabIndex = (button.dataset.mode === now) !== narrow.matches ? 0 : -1; // there the chosen one is not shown
    });
    const open = document.querySelector("#pq-tabs > .tab-wrapper button.selected");
    if (open && getComputedStyle(open).display === "none") document.querySelector("button[data-tab-id=chat]").click();
  }
  showMode();
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-mode]");
    if (!button) return;
    now = button.dataset.mode;
    try { localStorage.setItem("pdfqa-mode", now); } catch { /* private window */ }
    const address = new URL(location.href);
    address.searchParams.delete("mode"); // the hand outranks the link
    history.replaceState(history.state, "", address);
    showMode();
  });
  document.addEventListener("keydown", (event) => { // a group of choices is one stop, its arrows choose
    const group = event.target.closest(".scheme[role=radiogroup]");
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!group || !by) return;
    event.preventDefault();
    const every = [...group.children], next = every.at((every.indexOf(event.target) + by) % every.length);
    next.click();
    next.focus();
  });
  window.pdfqaScheme = () => { apply(); showMode(); };
})();
