// Small helpers of the page: colour scheme, keys, view switch on phones, scrolling. Loaded in <head>.
(() => {
  const stored = () => { try { return localStorage.getItem("pdfqa-scheme"); } catch { return null; } };
  const applyScheme = () => {
    const scheme = stored();
    if (scheme) document.body.classList.toggle("dark", scheme === "dark");
  };
  document.addEventListener("DOMContentLoaded", applyScheme);
  window.addEventListener("load", () => setTimeout(applyScheme, 0));

  document.addEventListener("click", (event) => {
    const scheme = event.target.closest("[data-scheme]");
    if (scheme) {
      const dark = !document.body.classList.contains("dark");
      document.body.classList.toggle("dark", dark);
      try { localStorage.setItem("pdfqa-scheme", dark ? "dark" : "light"); } catch { /* private window */ }
    }
    const view = event.target.closest("[data-view-of]");
    if (view) showView(view.dataset.viewOf, view.dataset.view);
    const wide = event.target.closest("[data-wide]");
    if (wide) document.getElementById(wide.dataset.wide)?.classList.toggle("wide");
    const unfold = event.target.closest("[data-unfold]");
    if (unfold) unfold.textContent = unfold.closest(".passage").classList.toggle("open") ? "show less" : "show all";
    const zoom = event.target.closest("[data-zoom]");
    if (zoom) setZoom(zoom.closest(".page-view"), zoom.dataset.zoom);
    const copy = event.target.closest("[data-copy], [data-copy-from]");
    if (copy) copyText(copy);
    const jump = event.target.closest("[data-tab]");
    if (jump) openTab(jump.dataset.tab);
    if (event.target.closest("[data-action=edit]"))
      setTimeout(() => document.querySelector("#chat-question textarea")?.focus(), 400);
    const later = event.target.closest("[data-tab-after]");
    if (later) wantedTab = later.dataset.tabAfter;
    const upload = event.target.closest("[data-upload]");
    if (upload) document.querySelector(`#${upload.dataset.upload} input[type=file]`)?.click();
  });

  let wantedTab = ""; // opened when the server has done what the click asked for
  function openTab(label) {
    const tabs = document.querySelectorAll("#pq-tabs > .tab-wrapper button[role=tab]");
    [...tabs].find((tab) => tab.textContent.trim() === label)?.click();
  }

  function showView(columns, view) {
    const row = document.getElementById(columns);
    if (!row) return;
    row.dataset.view = view;
    document.querySelectorAll(`[data-view-of="${columns}"]`).forEach((b) => b.classList.toggle("on", b.dataset.view === view));
  }

  let zoomLevel = 1;
  function setZoom(view, change) {
    if (!view) return;
    zoomLevel = change === "fit" ? 1 : Math.min(4, Math.max(0.5, zoomLevel * (change === "in" ? 1.25 : 0.8)));
    applyZoom(view);
  }
  function applyZoom(view) {
    const sheet = view.querySelector(".sheet");
    if (sheet) sheet.style.width = `${zoomLevel * 100}%`;
    const level = view.querySelector(".level");
    if (level) level.textContent = `${Math.round(zoomLevel * 100)} %`;
  }

  async function copyText(button) {
    const text = button.dataset.copy || document.getElementById(button.dataset.copyFrom)?.innerText || "";
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      const area = Object.assign(document.createElement("textarea"), { value: text });
      document.body.append(area); area.select();
      button.textContent = document.execCommand("copy") ? "copied" : "copy failed";
      area.remove();
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  }

  // Choices in the rating form wait for one another, so that each acts on what the one before has left on the screen.
  const RATING = "#annotate-form, #annotate-bar";
  const LONGEST = 3000; // milliseconds after which an answer that changes nothing is no longer waited for
  let rating = null;
  let next = [];
  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-action]");
    if (!target || !target.closest(RATING)) return;
    if (rating) {
      event.stopImmediatePropagation();
      const { key, action, value, item } = target.dataset;
      next.push(key ? `[data-key="${key}"]` : `[data-action="${action}"][data-value="${value}"][data-item="${item}"]`);
    } else {
      rating = setTimeout(rated, LONGEST);
    }
  }, true);
  function rated() {
    clearTimeout(rating);
    rating = null;
    while (next.length && !rating) {
      const selector = next.shift();
      const target = [...document.querySelectorAll(selector)].find((b) => b.closest(RATING) && b.offsetParent !== null);
      target?.click();
    }
  }

  // Called by a component after its HTML changed.
  window.pdfqa = {
    openWantedTab() {
      if (wantedTab) openTab(wantedTab);
      wantedTab = "";
    },
    shown(element) {
      if (rating && element.closest("#annotate-form")) setTimeout(rated, 0);
      const view = element.querySelector(".page-view");
      if (view) {
        applyZoom(view);
        const mark = view.querySelector("i.quote, i.mark");
        const image = view.querySelector("img");
        const scroll = () => {
          const column = view.closest("#chat-page") || view.closest(".column");
          if (!mark || !column) return;
          const place = mark.getBoundingClientRect(), frame = column.getBoundingClientRect();
          if (place.top < frame.top + 60 || place.bottom > frame.bottom - 20)
            column.scrollBy({ top: place.top - frame.top - frame.height / 4, behavior: "instant" });
        };
        if (image && !image.complete) image.addEventListener("load", scroll, { once: true }); else scroll();
      }
      if (element.querySelector("[data-follow]") || element.closest("#chat-transcript")) {
        const box = element.closest("#chat-scroll");
        if (box && !box.dataset.away) box.scrollTop = box.scrollHeight;
      }
    },
  };
  document.addEventListener("scroll", (event) => {
    const box = event.target;
    if (box.id !== "chat-scroll") return;
    if (box.scrollHeight - box.scrollTop - box.clientHeight > 80) box.dataset.away = "1"; else delete box.dataset.away;
  }, true);

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "Escape") {
      const stop = [...document.querySelectorAll(".pq-stop")].find((b) => b.offsetParent !== null);
      if (stop) { (stop.matches("button") ? stop : stop.querySelector("button"))?.click(); return; }
      if (typing) typing.blur();
      return;
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const comment = document.querySelector("#annotate-comment textarea");
    if (key === "c" && comment?.offsetParent) { event.preventDefault(); comment.focus(); return; }
    const target = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].find((b) => b.offsetParent !== null && !b.disabled);
    if (target) { event.preventDefault(); target.matches("input, textarea") ? target.focus() : target.click(); }
  });
})();
