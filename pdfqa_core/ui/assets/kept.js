// What a person has opened or typed in a part of the page stays with the thing it belongs to when new HTML comes, which
// is put into the old elements by their place: folds (data-kept), and fields inside data-about. After app.js.
(() => {
  const part = (element) => element.closest(".pq-live")?.id || "";

  // Folds, by their part of the page and their name. What a hand did gives way where the program opens or closes it anew.
  const folds = new Map(), byItself = new Map();
  const fold = (one) => `${part(one)} ${one.dataset.kept}`;
  document.addEventListener("click", (event) => {
    const one = event.target.closest?.("details[data-kept] > summary")?.parentElement;
    if (one) folds.set(fold(one), !one.open);
  });
  function unfold(element) {
    element.querySelectorAll("details[data-kept]").forEach((one) => {
      const name = fold(one), open = one.open;
      if (byItself.get(name) !== open) folds.delete(name);
      byItself.set(name, open);
      if (folds.has(name)) one.open = folds.get(name);
    });
  }

  // Fields, by what they are about. What was typed gives way where the program has stored something else meanwhile, and
  // where a form that makes something new (data-empties) has done so.
  const FIELDS = "input[name], textarea, select";
  const typed = new Map(); // by what it is about: by field, what was typed and what stood there before
  const about = new WeakMap(); // by element
  let sent = null;
  const stored = (field) => field.matches("select")
    ? ([...field.options].find((one) => one.defaultSelected) || field.options[0])?.value ?? "" : field.defaultValue;
  const name = (field) => field.name || field.tagName;
  document.addEventListener("input", (event) => {
    const field = event.target, box = field.closest?.("[data-about]");
    if (!box) return;
    if (!typed.has(box.dataset.about)) typed.set(box.dataset.about, new Map());
    typed.get(box.dataset.about).set(name(field), { value: field.value, before: stored(field) });
  }, true);
  document.addEventListener("click", (event) => {
    const box = event.target.closest?.("[data-action]")?.closest("[data-about][data-empties]");
    if (box) sent = { part: part(box), about: box.dataset.about };
  }, true);
  function fill(element) {
    if (sent && sent.part === part(element)) {
      if (!element.querySelector(".error")) typed.delete(sent.about);
      sent = null;
    }
    element.querySelectorAll("[data-about]").forEach((box) => {
      const kept = typed.get(box.dataset.about), other = about.has(box) && about.get(box) !== box.dataset.about;
      about.set(box, box.dataset.about);
      box.querySelectorAll(FIELDS).forEach((field) => {
        const mine = kept?.get(name(field));
        if (mine && mine.before !== stored(field)) kept.delete(name(field));
        const value = mine && mine.before === stored(field) ? mine.value : stored(field);
        if ((mine || other || box.dataset.empties !== undefined) && field.value !== value) field.value = value;
      });
    });
  }

  const { shown, mounted } = window.pdfqa;
  window.pdfqa.mounted = (element) => { mounted(element); unfold(element); fill(element); };
  window.pdfqa.shown = (element) => { unfold(element); fill(element); shown(element); };
})();
