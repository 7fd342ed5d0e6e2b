// Rows of the Documents tab that are chosen for a collection, and folders that are dropped or chosen. After places.js.
(() => {
  const one = (selector) => document.querySelector(selector);
  const checked = new Set();
  const boxes = () => [...document.querySelectorAll("#documents-table [data-check]")];

  function showChecked() {
    const there = boxes(), known = new Set(there.map((box) => box.dataset.check));
    checked.forEach((id) => { if (!known.has(id)) checked.delete(id); });
    there.forEach((box) => box.setAttribute("aria-checked", String(checked.has(box.dataset.check))));
    one("#documents-table [data-check-all]")?.setAttribute("aria-checked", String(there.length > 0 && checked.size === there.length));
    document.querySelectorAll("#documents-collections [data-documents]").forEach((button) => { button.dataset.documents = [...checked].join(" "); });
    const remove = one("#documents-table .remove-chosen");
    const these = checked.size === 1 ? "the chosen document" : `the ${checked.size} chosen documents`;
    if (remove) Object.assign(remove.dataset, { documents: [...checked].join(" "), confirm: `Remove ${these} from the workspace? Conversations keep their text.` });
    const bar = one("#documents-collections .with-chosen");
    if (!bar) return;
    bar.hidden = !checked.size;
    bar.querySelector("[data-count-chosen]").textContent = `${checked.size} chosen:`;
  }
  document.addEventListener("click", (event) => {
    const box = event.target.closest("[data-check]"), all = event.target.closest("[data-check-all]");
    if (box) checked[checked.has(box.dataset.check) ? "delete" : "add"](box.dataset.check);
    if (all) {
      const add = all.getAttribute("aria-checked") !== "true";
      boxes().forEach((other) => checked[add ? "add" : "delete"](other.dataset.check));
    }
    if (event.target.closest("[data-uncheck]")) checked.clear();
    if (event.target.closest("[data-remove-chosen]")) one("#documents-table .remove-chosen")?.click(); // the table's own work
    if (event.target.closest("#documents-collections :is([data-action=put], [data-action=take-out])")) setTimeout(() => { checked.clear(); showChecked(); });
    if (box || all || event.target.closest("[data-uncheck]")) showChecked();
  });

  document.addEventListener("click", (event) => { // the words of a locked document lead to the field, once it is there
    if (!event.target.closest("[data-to-password]")) return;
    let looks = 50;
    const look = () => {
      const field = one("#documents-right input[type=password]");
      if (field?.offsetParent) field.focus(); else if (looks--) setTimeout(look, 100);
    };
    look();
  });

  // Folders: their PDFs go the way of all files, with where they lie beside them; the other files stay where they are.
  const wanted = (path) => /\.pdf$/i.test(path) && !path.split("/").some((part) => part.startsWith("."));
  let sending = false;
  function say(found) {
    const box = one("#documents-folder textarea, #documents-folder input");
    if (!box) return;
    box.value = found;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
  function send(files) { // [path, File]
    const pdfs = files.filter(([path]) => wanted(path)), others = files.filter(([path]) => !wanted(path));
    const input = one("#documents-upload input[type=file]");
    say(JSON.stringify({ paths: pdfs.map(([path]) => path), left_out: others.map(([path]) => path), at: Date.now() }));
    if (!pdfs.length || !input) return;
    const carried = new DataTransfer();
    pdfs.forEach(([, file]) => carried.items.add(file));
    sending = true;
    input.files = carried.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    sending = false;
  }
  document.addEventListener("change", (event) => { // single files come without a folder
    if (!sending && event.target.closest?.("#documents-upload")) say("");
  }, true);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-choose-folder]")) return;
    const input = Object.assign(document.createElement("input"), { type: "file", multiple: true, webkitdirectory: true });
    input.id = "documents-folder-input";
    input.hidden = true;
    one("#documents-folder-input")?.remove();
    document.body.append(input);
    input.addEventListener("change", () => {
      send([...input.files].map((file) => [file.webkitRelativePath || file.name, file]));
      input.remove();
    });
    input.click();
  });

  const entries = (folder) => new Promise((done, failed) => {
    const reader = folder.createReader(), found = [];
    const more = () => reader.readEntries((some) => { // a browser hands out a hundred at a time
      if (some.length) { found.push(...some); more(); } else done(found);
    }, failed);
    more();
  });
  const file = (entry) => new Promise((done, failed) => { entry.file(done, failed); });
  async function within(entry) {
    if (!entry.isDirectory) return [[entry.fullPath.slice(1), await file(entry)]];
    const inside = (await entries(entry)).sort((a, b) => a.name.localeCompare(b.name));
    return (await Promise.all(inside.map(within))).flat();
  }
  document.addEventListener("drop", (event) => {
    if (!event.target.closest?.("#documents-upload")) return;
    const dropped = [...(event.dataTransfer?.items || [])].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    if (!dropped.some((entry) => entry.isDirectory)) { say(""); return; }
    event.preventDefault();
    event.stopImmediatePropagation();
    Promise.all(dropped.map(within)).then((found) => send(found.flat()), (error) => say(JSON.stringify({ problem: `${error.message || error}` })));
  }, true);

  const before = window.pdfqa.shown;
  window.pdfqa.shown = (element) => {
    before(element);
    if (element.closest("#documents-table, #documents-collections")) showChecked();
  };
})();
