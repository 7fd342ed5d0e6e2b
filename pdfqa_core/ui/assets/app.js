// Small helpers of the page: keys, view switch on phones, scrolling. Loaded in <head>.
(() => {
  document.addEventListener("click", (event) => {
    const view = event.target.closest("[data-view-of]");
    if (view) showView(view.dataset.viewOf, view.dataset.view);
    const wide = event.target.closest("[data-wide]");
    if (wide) document.getElementById(wide.dataset.wide)?.classList.toggle("wide");
    const unfold = event.target.closest("[data-unfold]");
    if (unfold) unfold.textContent = unfold.closest(".passage").classList.toggle("open") ? "show less" : "show all";
    const zoom = event.target.closest("[data-zoom]");
    if (zoom) setZoom(zoom.closest(".page-view"), zoom.dataset.zoom);
    const copy = event.target.closest("[data-copy], [data-copy-next]");
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

  // Gradio tells nobody that a list was cleared by its ×; that its choices went one by one it does tell.
  document.addEventListener("click", (event) => {
    const all = event.target.closest(".remove-all");
    if (!all) return;
    event.preventDefault();
    event.stopPropagation();
    all.closest(".wrap-inner").querySelectorAll(".token-remove:not(.remove-all)").forEach((one) => one.click());
  }, true);

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

  // The page view. Its size, the place one looks at and "Show blocks" outlive the HTML, which is new for every page.
  const LEVELS = [50, 75, 100, 125, 150, 200, 300]; // percent of the size on paper
  const LARGEST = 4000; // pixels, the widest image that the server draws
  const places = new Map(); // by tab: which page is shown, where it is scrolled to, whether it had the focus
  let zoom = "fit";
  let sharper = 0;
  const remembered = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const remember = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private window */ } };
  const paperWidth = (view) => (view.dataset.points * 96) / 72;
  const place = (view) => {
    const key = view.closest(".pq-live")?.id || "";
    if (!places.has(key)) places.set(key, { shows: "", x: 0, y: 0, focused: false });
    return places.get(key);
  };
  function setZoom(view, to) {
    const frame = view?.querySelector(".frame");
    if (!frame) return;
    const now = zoom === "fit" ? (100 * frame.clientWidth) / paperWidth(view) : zoom;
    if (to === "in") zoom = LEVELS.find((level) => level > now + 1) || LEVELS.at(-1);
    else if (to === "out") zoom = LEVELS.findLast((level) => level < now - 1) || LEVELS[0];
    else zoom = to === "fit" ? "fit" : Number(to);
    const x = (frame.scrollLeft + frame.clientWidth / 2) / frame.scrollWidth;
    const y = (frame.scrollTop + frame.clientHeight / 2) / frame.scrollHeight;
    applyZoom(view);
    frame.scrollLeft = x * frame.scrollWidth - frame.clientWidth / 2;
    frame.scrollTop = y * frame.scrollHeight - frame.clientHeight / 2;
  }
  function applyZoom(view) {
    const sheet = view.querySelector(".sheet"), select = view.querySelector("[data-zoom-to]");
    if (!sheet) return;
    sheet.style.width = zoom === "fit" ? "100%" : `${(paperWidth(view) * zoom) / 100}px`;
    select.value = String(zoom);
    const needed = Math.min(LARGEST, Math.ceil((sheet.clientWidth * devicePixelRatio) / 200) * 200);
    view.querySelectorAll(".toolbar [data-action=page]").forEach((b) => { b.dataset.width = needed || ""; });
    const image = sheet.querySelector("img");
    clearTimeout(sharper);
    if (image.complete) askSharper(view, image, needed);
    else image.addEventListener("load", () => askSharper(view, image, needed), { once: true });
  }
  function askSharper(view, image, needed) {
    const at = place(view), wanted = `${view.dataset.shows}@${needed}`;
    if (needed < image.naturalWidth * 1.15 || at.asked === wanted) return;
    sharper = setTimeout(() => {
      if (!view.isConnected) return;
      at.asked = wanted;
      goTo(view, view.querySelector(".jump input").defaultValue);
    }, 300);
  }
  function goTo(view, number) {
    const button = view.querySelector(".goto"), input = view.querySelector(".jump input");
    const wanted = Math.min(Number(input.max), Math.max(1, Math.round(Number(number)) || Number(input.defaultValue)));
    button.dataset.number = wanted;
    input.value = wanted;
    button.click();
  }
  function showPage(view) {
    const at = place(view), frame = view.querySelector(".frame");
    view.classList.toggle("blocks", remembered("pdfqa-blocks") === "1");
    const box = view.querySelector("[data-blocks]");
    if (box) box.checked = view.classList.contains("blocks");
    if (!frame) return;
    applyZoom(view);
    const drawn = view.querySelectorAll(view.querySelector("i.quote") ? "i.quote" : "i.mark");
    const mark = [...drawn].sort((one, other) => one.offsetTop - other.offsetTop)[0];
    const marks = [...view.querySelectorAll("i.mark, i.quote")].map((one) => one.style.cssText).join();
    if (at.shows === view.dataset.shows && at.marks === marks) {
      frame.scrollLeft = at.x * frame.scrollWidth;
      frame.scrollTop = at.y * frame.scrollHeight;
    } else if (mark) {
      frame.scrollTop = mark.offsetTop - frame.clientHeight / 4;
      frame.scrollLeft = Math.max(0, mark.offsetLeft - 24);
      view.scrollIntoView({ block: "nearest", behavior: "instant" });
    } else {
      frame.scrollLeft = at.x * frame.scrollWidth;
      frame.scrollTop = 0;
    }
    at.x = frame.scrollLeft / frame.scrollWidth; // no event says that a new page begins at its top
    at.y = frame.scrollTop / frame.scrollHeight;
    at.shows = view.dataset.shows;
    at.marks = marks;
    if (at.focused) frame.focus({ preventScroll: true });
  }
  document.addEventListener("scroll", (event) => {
    const frame = event.target;
    if (!frame.matches?.(".page-view .frame") || !frame.scrollHeight) return;
    Object.assign(place(frame.closest(".page-view")), {
      x: frame.scrollLeft / frame.scrollWidth, y: frame.scrollTop / frame.scrollHeight,
    });
  }, true);
  document.addEventListener("focusin", (event) => {
    const view = event.target.closest(".page-view");
    if (view) place(view).focused = !event.target.closest(".page-text, summary");
    else places.forEach((at) => { at.focused = false; });
  });
  document.addEventListener("change", (event) => {
    const view = event.target.closest(".page-view");
    if (!view) return;
    if (event.target.matches("[data-zoom-to]")) setZoom(view, event.target.value);
    if (event.target.matches(".jump input")) goTo(view, event.target.value);
    if (event.target.matches("[data-blocks]")) {
      remember("pdfqa-blocks", event.target.checked ? "1" : "");
      view.classList.toggle("blocks", event.target.checked);
    }
  });
  document.addEventListener("keydown", (event) => {
    const view = event.target.closest(".page-view");
    if (!view || event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const frame = view.querySelector(".frame");
    const back = event.key === "ArrowLeft", on = event.key === "ArrowRight";
    if (back || on) {
      const room = back ? frame?.scrollLeft > 1 : frame?.scrollLeft + frame?.clientWidth < frame?.scrollWidth - 1;
      if (room) return; // an enlarged page is scrolled to its edge first
      event.preventDefault();
      view.querySelector(back ? ".turn-back" : ".turn-on").click();
    }
    if (["+", "=", "-"].includes(event.key)) { event.preventDefault(); setZoom(view, event.key === "-" ? "out" : "in"); }
  });

  async function copyText(button) {
    const text = button.dataset.copy || button.nextElementSibling?.innerText || "";
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

  function copyShown(element) {
    const text = element.querySelector("[data-clipboard]")?.dataset.clipboard;
    const button = document.querySelector("button#annotate-copy");
    if (!text || !button) return;
    button.dataset.copy = text;
    copyText(button).finally(() => delete button.dataset.copy);
  }

  // Choices in the rating form wait for one another, so that each acts on what the one before has left on the screen.
  const RATING = "#annotate-form, #annotate-bar, #train-review";
  const LONGEST = 3000; // milliseconds after which an answer that changes nothing is no longer waited for
  const TWICE = 350; // milliseconds in which a second click is part of a double one: the next item is not seen yet
  let rating = null, acted = -TWICE;
  let next = [];
  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-action]");
    if (!target || !target.closest(RATING) || target.dataset.edit) return;
    if (target.matches("#train-review [data-action], [data-action=next]")) {
      if (event.detail > 1 && event.timeStamp - acted < TWICE) { event.stopImmediatePropagation(); return; }
      acted = event.timeStamp;
    }
    if (rating) {
      event.stopImmediatePropagation();
      const { key, item, criterion, value } = target.dataset;
      next.push(key ? `[data-key="${key}"]` : `[data-item="${item}"][data-criterion="${criterion}"][data-value="${value}"]`);
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

  // What a small sign means, shown while the pointer or the focus is on it (a tap gives the focus).
  let tip = null;
  function showTip(target) {
    tip ||= document.body.appendChild(Object.assign(document.createElement("div"), { id: "pq-tip" }));
    tip.textContent = target.dataset.tip;
    tip.hidden = false;
    const at = target.getBoundingClientRect(), room = innerWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(room, at.left))}px`;
    tip.style.top = `${at.bottom + 6 + tip.offsetHeight > innerHeight ? at.top - tip.offsetHeight - 6 : at.bottom + 6}px`;
  }
  const hideTip = () => { if (tip) tip.hidden = true; };
  for (const on of ["mouseover", "focusin"])
    document.addEventListener(on, (event) => {
      const target = event.target.closest?.("[data-tip]");
      if (target) showTip(target); else hideTip();
    });
  document.addEventListener("focusout", hideTip);
  document.addEventListener("scroll", hideTip, true);

  // Words selected in an answer: the sentence of its evidence that fits them best is marked. By mouse, keys or touch.
  let selecting = 0, lastSelected = "";
  const words = (range) => {
    const piece = range.cloneContents();
    piece.querySelectorAll(".cite, .badge").forEach((one) => one.remove());
    return piece.textContent.replace(/\s+/g, " ").trim();
  };
  function selectedAnswer() {
    const selection = getSelection();
    if (!selection || selection.isCollapsed || !selection.rangeCount) return null;
    const within = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest("#chat-transcript .answer:not(.refused)");
    const answer = within(selection.anchorNode);
    return answer && answer === within(selection.focusNode) ? answer : null;
  }
  document.addEventListener("selectionchange", () => {
    clearTimeout(selecting);
    selecting = setTimeout(matchSelected, 350);
  });
  function matchSelected() {
    const answer = selectedAnswer();
    if (!answer) { lastSelected = ""; return; }
    const text = words(getSelection().getRangeAt(0)), button = answer.querySelector(".match");
    if (pressed || text.length < 3 || !button || lastSelected === button.dataset.turn + text) return;
    lastSelected = button.dataset.turn + text;
    button.dataset.text = text.slice(0, 1000);
    button.click();
    document.querySelectorAll("#chat-transcript .turn").forEach((turn) => turn.classList.toggle("current", turn.contains(answer)));
  }
  let pressed = false; // while the mouse is down the selection still grows
  document.addEventListener("mousedown", () => { pressed = true; }, true);
  document.addEventListener("mouseup", () => {
    pressed = false;
    clearTimeout(selecting);
    selecting = setTimeout(matchSelected, 50);
  }, true);
  // What is copied of an answer by keys or menu has its markers, and below it what they stand for.
  document.addEventListener("copy", (event) => {
    if (!selectedAnswer() || !event.clipboardData) return;
    const piece = getSelection().getRangeAt(0).cloneContents(), notes = new Set();
    piece.querySelectorAll(".badge, .match").forEach((one) => one.remove());
    piece.querySelectorAll(".cite").forEach((one) => {
      const marker = `[${one.textContent.trim()}]`;
      notes.add(`${marker} ${one.dataset.source}`);
      one.replaceWith(` ${marker}`);
    });
    piece.querySelectorAll("table").forEach((one) => one.prepend("\n"));
    piece.querySelectorAll("tr").forEach((one) => one.append("\n"));
    piece.querySelectorAll(":is(th, td) + :is(th, td):not(.marks)").forEach((one) => one.prepend("\t"));
    const text = [piece.textContent.trim(), [...notes].join("\n")].filter(Boolean).join("\n\n");
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  });
  document.addEventListener("click", (event) => { // the end of a selection is no click on the answer
    if (!event.target.closest("button") && event.target.closest(".answer") && selectedAnswer()) event.stopPropagation();
  }, true);

  function save(element) { // the button has its file when the page has shown what came with it
    if (element.querySelector("[data-download]")) setTimeout(() => document.querySelector("#chat-file").click(), 300);
  }
  document.addEventListener("click", (event) => {
    const chosen = event.target.closest("[data-action=export]"), menu = chosen?.closest("details");
    document.querySelectorAll("details.export[open]").forEach((one) => {
      if (chosen || !one.contains(event.target)) one.open = false;
    });
    if (menu) menu.querySelector("summary").textContent = "making the file…";
  });

  let shownEvidence = ""; // so that the list moves only when another place of it is chosen
  function showEvidence(element) {
    const chosen = element.querySelector(".passage.chosen"), place = chosen?.querySelector(".quoted") || chosen;
    const list = document.getElementById("chat-evidence"), now = chosen ? chosen.dataset.rank + place.textContent : "";
    if (!chosen || now === shownEvidence) { shownEvidence = now; return; }
    shownEvidence = now;
    list.scrollTop = 0;
    const box = list.getBoundingClientRect(), top = chosen.getBoundingClientRect().top, at = place.getBoundingClientRect();
    if (at.bottom < box.bottom - 8) return; // it can be seen, and the heading of the list with it
    list.scrollTop = (at.bottom - top < box.height ? top - 8 : at.top - 40) - box.top;
  }

  let following = false; // an answer that was begun before the page was loaded is shown on
  function follow(found) {
    if (found && !following) document.querySelector("#chat-follow")?.click();
    following = found;
  }

  // The question of an answer that failed, to be sent again, where nothing else was typed meanwhile.
  function putBack({ putBack: question, field }) {
    const box = document.querySelector(`#${field} textarea`);
    if (!box || box.value.trim()) return;
    box.value = question;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }

  // Phones show one column at a time: the one in which something went wrong.
  function showProblem(place) {
    const column = place.closest(".pq-columns > .column"), columns = column?.parentElement;
    if (columns && place.querySelector(".error") && !column.offsetParent)
      showView(columns.id, String([...columns.children].indexOf(column) + 1));
  }

  // Called by a component after its HTML changed.
  window.pdfqa = {
    exported() {
      document.querySelectorAll("details.export > summary").forEach((one) => { one.textContent = "export"; });
    },
    openWantedTab() {
      if (wantedTab && !document.querySelector("#chat-live .error")) openTab(wantedTab);
      wantedTab = "";
    },
    fetch(button) { // the file is made, unless an error stands in the column
      setTimeout(() => {
        const link = document.getElementById(button);
        if (!link.closest(".column:has(> .pq-problem)")?.querySelector(".pq-problem .error")) link.click();
      }, 300);
    },
    copy: copyText,
    mounted() {}, // called by a component when it comes onto the page, with what it shows already
    shown(element) {
      if (rating && element.closest("#annotate-form, #train-review")) setTimeout(rated, 0);
      const view = element.querySelector(".page-view[data-shows]");
      if (view) showPage(view);
      if (element.querySelector("[data-scheme]")) window.pdfqaScheme();
      if (element.closest("#chat-download")) save(element);
      if (element.closest(".pq-problem")) showProblem(element.closest(".pq-problem"));
      if (element.closest("#annotate-copied")) copyShown(element);
      if (element.closest("#chat-evidence")) showEvidence(element);
      if (element.closest("#chat-live")) {
        follow(Boolean(element.querySelector("[data-taken-up]")));
        document.dispatchEvent(new Event("pdfqa-live"));
      }
      if (element.querySelector("[data-put-back]")) putBack(element.querySelector("[data-put-back]").dataset);
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
    if (document.querySelector("dialog[open]")) return; // its own keys
    const typing = event.target.closest("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]");
    if (event.key === "Escape") {
      const stop = [...document.querySelectorAll(".pq-stop")].find((b) => b.offsetParent !== null);
      if (stop) { (stop.matches("button") ? stop : stop.querySelector("button"))?.click(); return; }
      hideTip();
      if (!window.pdfqa.closeOpen() && typing) typing.blur();
      return;
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const comment = document.querySelector("#annotate-comment textarea");
    if (key === "c" && comment?.offsetParent) { event.preventDefault(); comment.focus(); return; }
    const target = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].find((b) => b.offsetParent !== null && !b.disabled);
    if (target) { event.preventDefault(); target.matches("input, textarea") ? target.focus() : target.click(); }
  });
})();
// A demo takes uploads only from pages that say whose they are (`ui/downloads.py`); and who was signed out is told so.
(() => {
  const fetched = window.fetch;
  const path = (target) => new URL(target?.url ?? target, location.href).pathname;
  const known = async () => { // the ticket, empty where none is asked for, comes when the page knows whose it is
    for (let tries = 0; window.pdfqa?.ticket === undefined && tries < 300; tries++) await new Promise((done) => setTimeout(done, 100));
    return window.pdfqa?.ticket;
  };
  window.fetch = async (target, options = {}) => {
    if (path(target).endsWith("/upload") && (await known())) {
      const headers = new Headers(options.headers ?? target?.headers);
      headers.set("x-pdfqa-ticket", window.pdfqa.ticket);
      options = { ...options, headers };
    }
    const answer = await fetched(target, options);
    if (answer.status === 401 && path(target).startsWith("/gradio_api/")) location.assign(`/sign-in?next=${encodeURIComponent(location.search)}`);
    return answer;
  };
})();
