// Links of invitations: the address of this server stands before what the program made. After places.js.
(() => {
  const before = window.pdfqa.shown;
  window.pdfqa.shown = (element) => {
    before(element);
    for (const field of element.querySelectorAll("input[data-link]")) field.value = location.origin + location.pathname + field.dataset.link;
  };
  document.addEventListener("click", (event) => {
    const field = event.target.closest(".invited-link")?.querySelector("input[data-link]");
    if (!field) return;
    if (event.target === field) field.select();
    const button = event.target.closest("[data-copy-link]");
    if (button) { button.dataset.copy = field.value; window.pdfqa.copy(button); }
  });
})();
