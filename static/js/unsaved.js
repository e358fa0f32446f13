/* Asks before a page is left with something typed that is stored nowhere. A form with data-unsaved="yes" comes back
   from the server with such text in it. */
(function () {
  "use strict";
  document.querySelectorAll("form[data-unsaved]").forEach(function (form) {
    let unsaved = form.dataset.unsaved === "yes";
    form.addEventListener("input", () => (unsaved = true));
    form.addEventListener("unsaved", () => (unsaved = true));
    form.addEventListener("submit", () => (unsaved = false));
    window.addEventListener("beforeunload", function (event) {
      if (unsaved) {
        event.preventDefault();
      }
    });
  });
})();
